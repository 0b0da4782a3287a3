import { messages } from '../../src/cli/demo/scenario.ts'
import type { SendType } from '../../src/protocol/index.ts'
import { avroTypeOf } from '../../src/records/avro.ts'
import { branchOf } from '../../src/records/command.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'

/** The sandbox sends no callbacks for this number: only the status shows a delivery (docs/sandbox.md). */
export const silentPhone = 380501234596

/** Builds a valid command for an SMS, as the decoder returns it. */
export function buildCommand(overrides: Partial<SendCommand> = {}): SendCommand {
  return buildCommandOf('sms', overrides)
}

/** Builds commands with consecutive ids. */
export const commandsFrom = (first: number, count: number, overrides: Partial<SendCommand> = {}): SendCommand[] =>
  Array.from({ length: count }, (_, i) => buildCommand({ id: BigInt(first + i), ...overrides }))

/** Builds a valid command of one type. `fields` replaces fields of its message, with valid values or not. */
export function buildCommandOf(
  type: SendType,
  overrides: Partial<SendCommand> = {},
  fields: Record<string, unknown> = {},
): SendCommand {
  return {
    id: 1001n,
    phone: 380501234567,
    message: { [branchOf(type)]: { ...decodedMessage(type), ...fields } } as unknown as SendCommand['message'],
    account: 'default',
    deadline: null,
    delivery: 'DEFAULT',
    hook: null,
    correlationId: null,
    tenant: null,
    campaign: null,
    extra: {},
    notBefore: null,
    ...overrides,
  }
}

/** Fields in addition to those of the demo's messages. */
const more: Partial<Record<SendType, object>> = {
  sms: { short_link: true },
  viber: { viber_image: null, viber_link: null, viber_button: null, viber_lifetime: 3600 },
  'viber+sms': { viber_lifetime: 3600 },
  rcs: { rcs_lifetime: 3600 },
  'rcs+sms': { rcs_lifetime: 3600 },
  'rcs+viber+sms': { rcs_lifetime: 3600 },
  pipeline: { whatsapp: { message: 'Your order is ready' } },
}

const commandType = avroTypeOf(schemas.command)

/** The message of a type as the decoder returns it: missing fields are null. */
function decodedMessage(type: SendType): object {
  const given = { [branchOf(type)]: { ...messages[type], ...more[type] } }
  const written = commandType.toBuffer({ id: 1n, phone: 1, message: given })
  return commandType.fromBuffer(written).message[branchOf(type)]
}
