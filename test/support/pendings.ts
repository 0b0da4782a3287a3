import type { Session } from '../../src/bus/port.ts'
import type { Pending } from '../../src/dispatch/pending.ts'
import type { Command } from '../../src/records/command.ts'

export interface PendingOptions
  extends Partial<Pick<Pending, 'session' | 'offset' | 'readyAt' | 'lingersSince' | 'attempts' | 'doubted'>> {
  id?: bigint
  type?: Command['type']
  account?: string
  deadline?: number | null
  tenant?: string | null
  /** When its record was appended. */
  timestamp?: number
  /** Length of its operation. */
  bytes?: number
}

let lastId = 0n

/** A session for what only asks whether it is open; the test may change that. */
export const buildPartition = (partition = 0) =>
  ({ topic: 'busgate.commands', partition, open: true, alive: true }) as { open: boolean } & Session

const here = buildPartition()

/** A valid command on its way. */
export function buildPending(options: PendingOptions = {}): Pending {
  const {
    id = ++lastId,
    type = 'sms',
    account = 'default',
    deadline = null,
    tenant = null,
    timestamp = 0,
    bytes = 40,
    ...rest
  } = options
  const head = `{"type":"${type}","id":${id},"text":"`
  const json = `${head}${'x'.repeat(Math.max(0, bytes - head.length - 2))}"}`
  const command: Command = {
    id,
    idText: String(id),
    type,
    account,
    deadline,
    delivery: 'DEFAULT',
    lifetime: null,
    hooked: true,
    correlationId: null,
    tenant,
    campaign: null,
    country: 'UA',
    trace: null,
    json,
    bytes: json.length,
  }
  const offset = rest.offset ?? Number(id)
  const record = { offset, timestamp, key: null, value: null, headers: {} }
  return {
    command,
    session: here,
    offset,
    heldBytes: json.length,
    topic: 'busgate.commands',
    partition: 0,
    record,
    since: timestamp,
    readyAt: 0,
    lingersSince: 0,
    attempts: 0,
    doubted: false,
    packed: false,
    over: false,
    ...rest,
  }
}
