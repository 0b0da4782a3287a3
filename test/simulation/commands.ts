import type { OutgoingRecord } from '../../src/bus/port.ts'
import type { Settings } from '../../src/config/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { buildCommandOf } from '../support/commands.ts'
import type { CommandPlan } from './plan.ts'

/** A command of the world. Its phone identifies it, because several commands may have one id. */
export interface SimCommand {
  plan: CommandPlan
  phone: number
  topic: string
  partition: number
  offset: number
  /** Virtual milliseconds since 1970. */
  deadline: number | null
  /** Virtual milliseconds since 1970. */
  notBefore: number | null
  policy: 'AT_MOST_ONCE' | 'AT_LEAST_ONCE'
  publishedAt: number
  /** The bytes of its record. */
  value: Buffer
}

const firstPhone = 380_500_000_001

export const phoneOf = (index: number): number => firstPhone + index

export function recordOf(
  plan: CommandPlan,
  phone: number,
  topic: string,
  fields: Pick<SimCommand, 'deadline' | 'notBefore'> & Partial<Pick<SendCommand, 'message'>>,
  encode: (command: SendCommand) => Buffer,
): OutgoingRecord & { value: Buffer } {
  return { topic, key: Buffer.from(String(plan.id)), value: valueFor(plan, phone, fields, encode) }
}

/** The correlation id of the command to this phone. */
export const correlationOf = (phone: number) => `order ${phone}`

function valueFor(
  { kind, id, type, delivery, account, tenant, campaign }: CommandPlan,
  phone: number,
  fields: Partial<SendCommand>,
  encode: (command: SendCommand) => Buffer,
): Buffer {
  if (kind === 'garbage') return Buffer.from('no Avro at all')
  const value = encode(
    buildCommandOf(type, {
      ...{ id: BigInt(id), phone, delivery, ...fields, tenant, campaign, correlationId: correlationOf(phone) },
      account: kind === 'unknown account' ? 'Unknown' : account, // one that no settings can name
      extra: kind === 'invalid' || (kind === 'unknown account' && id % 2 === 0) ? { phone: '1' } : {},
    }),
  )
  if (kind === 'unknown schema') value.writeUInt32BE(999, 1)
  return value
}

export function policyOf({ type, delivery }: CommandPlan, { doubts: { policies } }: Settings): SimCommand['policy'] {
  return delivery === 'DEFAULT' ? policies[type] : delivery
}
