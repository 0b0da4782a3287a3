import type { OutgoingRecord } from '../../src/bus/port.ts'
import type { Settings } from '../../src/config/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { buildCommandOf } from '../support/commands.ts'
import type { CommandPlan } from './plan.ts'

/** A command of the world, known by its phone: no two commands have the same, whatever their ids. */
export interface SimCommand {
  plan: CommandPlan
  phone: number
  topic: string
  partition: number
  offset: number
  /** Virtual milliseconds since 1970. */
  deadline: number | null
  policy: 'AT_MOST_ONCE' | 'AT_LEAST_ONCE'
  publishedAt: number
  /** Bytes of its record. */
  size: number
}

const firstPhone = 380_500_000_001

export const phoneOf = (index: number): number => firstPhone + index

export function recordOf(
  plan: CommandPlan,
  phone: number,
  topic: string,
  deadline: number | null,
  encode: (command: SendCommand) => Buffer,
): OutgoingRecord {
  const { id, bulk } = plan
  return {
    topic,
    key: Buffer.from(String(id).padEnd(bulk.key ?? 0)),
    value: valueFor(plan, phone, deadline, encode),
    ...(bulk.headers && { headers: { note: Buffer.alloc(bulk.headers, 'n') } }),
  }
}

/** How a command's own system knows it. */
export function referencesOf({ bulk }: CommandPlan, phone: number): Pick<SendCommand, 'correlationId' | 'tenant'> {
  const correlationId = `order ${phone}`.padEnd(bulk.correlationId ?? 0, '.')
  return { correlationId, tenant: bulk.tenant ? 't'.repeat(bulk.tenant) : null }
}

function valueFor(
  plan: CommandPlan,
  phone: number,
  deadline: number | null,
  encode: (command: SendCommand) => Buffer,
): Buffer {
  const { kind, id, type, delivery, account, bulk } = plan
  if (kind === 'garbage') return Buffer.from('no Avro at all'.padEnd(bulk.body ?? 0))
  const common = { id: BigInt(id), phone, delivery, deadline, ...referencesOf(plan, phone) }
  const value = encode(
    buildCommandOf(type, {
      ...common,
      account: kind === 'stranger' ? 'stranger' : account,
      extra: {
        ...(bulk.body && { note: JSON.stringify('n'.repeat(bulk.body)) }),
        ...(kind === 'invalid' && { phone: '1' }),
      },
    }),
  )
  if (kind === 'foreign schema') value.writeUInt32BE(999, 1)
  return value
}

export function policyOf({ type, delivery }: CommandPlan, { delivery: { types } }: Settings): SimCommand['policy'] {
  return delivery === 'DEFAULT' ? types[type] : delivery
}
