import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import type { NewStatusEvent } from '../../src/records/status.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'

/** A record to write; the list is in order. */
export type DatasetRecord = { old?: boolean } & (
  | { topic: 'results'; value: SendResult; aborted?: boolean }
  | { topic: 'statuses'; value: NewStatusEvent }
)

/** The fields that an earlier version of the schemas did not have. */
export const addedFields = {
  results: ['campaign', 'hooked', 'commandAt', 'country'],
  statuses: ['campaign', 'commandType', 'country', 'eventId'],
} as const

const start = Date.UTC(2026, 2, 2, 10)

/** A time on the dataset's only day, in milliseconds since 1970. */
export const at = (minute: number, second = 0) => start + (minute * 60 + second) * 1000

type ResultChange = Partial<SendResult>
type EventChange = Partial<StatusEvent>
const options = <T extends { old?: boolean; aborted?: boolean }>(of: T) => of

let nextOffset = 0

/** The final result of a command that was appended in this minute, sent 1 s later and answered 0.5 s after that. */
function result(id: bigint, minute: number, change: ResultChange = {}, how = options({})): DatasetRecord {
  const value = buildResult({
    id,
    commandTopic: 'busgate.commands',
    commandPartition: 0,
    commandOffset: nextOffset++,
    commandAt: at(minute),
    sentAt: at(minute, 1),
    completedAt: at(minute, 1) + 500,
    tenant: 'shop',
    campaign: 'spring',
    ...change,
  })
  return { topic: 'results', value, ...how }
}

const unsent = { sentAt: null, msgId: null, parts: null, attempts: 0 } as const
const inDoubt = { outcome: 'IN_DOUBT', final: false, msgId: null, parts: null, errorCode: 'RESPONSE_LOST' } as const
const rejected = { outcome: 'REJECTED', msgId: null, parts: null } as const
const duplicate = { outcome: 'DUPLICATE', ...unsent } as const
/** A message that is billed by the call. */
const called = { hooked: false, parts: null, country: 'DE', tenant: 'bank', campaign: null } as const
const operator = { name: 'Telekom', prefix: 49171, country: { name: 'Germany', prefix: 49 } }
const lookedUp = {
  phone: 491711234567,
  status: 'DELIVERED',
  imsi: null,
  mccmnc: 26201,
  ported: false,
  network: { origin: operator, ported: null },
}
const pipeline = { type: 'pipeline', hooked: false } as const

/** A verified callback at this time. */
function statusEvent(
  id: bigint,
  minute: number,
  second: number,
  change: EventChange = {},
  how = options({}),
): DatasetRecord {
  const { eventId: _, ...value } = buildStatusEvent({ id, receivedAt: at(minute, second), ...change })
  return { topic: 'statuses', value, ...how }
}

/** An unverified callback, which anyone can send to the account's address. */
const claimed = { verified: false, commandType: null, country: null } as const
const givenUp = { status: 'UNKNOWN', state: 'UNKNOWN', final: true, success: null, source: 'POLL' } as const

/** Another result of the same command record. */
const again = (record: DatasetRecord, change: ResultChange = {}): DatasetRecord =>
  ({ ...record, value: { ...record.value, ...change } }) as DatasetRecord

const twice = (record: DatasetRecord) => [record, record]

/** A doubt and its final result. */
function resolved(id: bigint, minute: number, change: ResultChange, seconds: number): DatasetRecord[] {
  const doubt = result(id, minute, inDoubt)
  const end = { outcome: 'SENT', final: true, errorCode: null, completedAt: at(minute, seconds), ...change } as const
  return [doubt, again(doubt, end)]
}

/** The topics after a bad day. expected.csv contains the expected outcome of each message, with the reason. */
export const dataset: readonly DatasetRecord[] = [
  // Sent and delivered, in two countries and by several channels
  result(1n, 0),
  statusEvent(1n, 0, 6),
  result(2n, 0, { parts: 2 }),
  ...twice(statusEvent(2n, 0, 9)),
  result(3n, 0, { type: 'viber+sms', country: 'PL' }),
  statusEvent(3n, 5, 1, { type: 'viber', commandType: 'viber+sms', country: 'PL' }),

  // Callbacks that contradict each other, or arrive late or out of order
  result(4n, 1, { type: 'viber+sms', country: 'PL' }),
  statusEvent(4n, 2, 1, { type: 'viber', status: 'EXPIRED', commandType: 'viber+sms', country: 'PL' }),
  statusEvent(4n, 11, 1, { commandType: 'viber+sms', country: 'PL' }),
  result(5n, 1),
  statusEvent(5n, 1, 11),
  statusEvent(5n, 1, 21, { status: 'UNDELIVERABLE' }),
  statusEvent(6n, 121, 0, { status: 'READ', updatedAt: at(1, 31) }),
  result(6n, 1),
  statusEvent(6n, 121, 5, { status: 'DELIVERED', updatedAt: at(1, 4) }),
  statusEvent(6n, 121, 9, { status: 'QUEUED', updatedAt: at(1, 2) }),
  result(7n, 1, { country: null }),
  statusEvent(7n, 1, 3, { status: 'ROUTING', country: null }),
  result(8n, 1, { country: 'PL' }),
  statusEvent(8n, 1, 41, { status: 'UNDELIVERABLE', country: 'PL' }),
  result(9n, 1),
  statusEvent(9n, 61, 0, givenUp),
  result(10n, 1),
  statusEvent(10n, 61, 0, givenUp),
  statusEvent(10n, 70, 0),

  // Ids that occur twice
  result(11n, 2),
  result(11n, 3, duplicate),
  statusEvent(11n, 2, 4),
  result(12n, 2, { commandPartition: 1, commandOffset: 7 }),
  result(12n, 4, { commandPartition: 2, commandOffset: 7, parts: 3, msgId: 'gw-2' }),
  statusEvent(12n, 2, 5),
  result(13n, 2, { ...rejected, commandPartition: 1, errorCode: 'SENDER_INVALID' }),
  result(13n, 5, { commandPartition: 2 }),
  statusEvent(13n, 5, 8),
  result(14n, 2, duplicate),

  // Repeated results, and an aborted one
  ...twice(result(15n, 6, { parts: 2 })),
  statusEvent(15n, 6, 4),
  ...[result(16n, 6, { parts: 2 })].flatMap(first => [
    first,
    again(first, { outcome: 'REJECTED', errorCode: 'DUPLICATE_ID', parts: null, completedAt: at(40) }),
  ]),
  statusEvent(16n, 6, 31),
  result(17n, 6, { outcome: 'REJECTED', errorCode: 'SENDER_INVALID' }, { aborted: true }),
  ...[result(18n, 6, { parts: 9 }, { aborted: true })].flatMap(({ value }) => [
    { topic: 'results', value, aborted: true } as DatasetRecord,
    { topic: 'results', value: { ...value, parts: 1 } } as DatasetRecord,
  ]),
  statusEvent(18n, 6, 5),

  // Doubts
  ...resolved(19n, 7, { msgId: null, parts: null }, 55),
  statusEvent(19n, 7, 20),
  result(20n, 7, inDoubt),
  ...resolved(21n, 7, { outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST', hooked: null }, 57),
  statusEvent(21n, 9, 30),
  ...resolved(22n, 7, { outcome: 'UNRESOLVED', errorCode: 'ATTEMPTS_EXHAUSTED', attempts: 3, hooked: null }, 58),
  ...resolved(27n, 7, { attempts: 2, parts: 1, msgId: 'gw-3' }, 59),
  statusEvent(27n, 8, 5),

  // Polled verdicts
  result(28n, 9),
  statusEvent(28n, 24, 0, { source: 'POLL' }),
  result(29n, 9),
  statusEvent(29n, 9, 11, { source: 'POLL' }),
  statusEvent(29n, 9, 11, { status: 'READ' }),

  // Never sent
  result(23n, 8, { ...unsent, outcome: 'EXPIRED', errorCode: 'WITHDRAWN', campaign: 'summer' }),
  result(24n, 8, { ...unsent, outcome: 'EXPIRED', errorCode: 'DEADLINE', campaign: 'summer' }),
  result(25n, 8, { ...rejected, errorCode: 'OPERATOR_UNSUPPORTED', tenant: null }),
  result(26n, 8, {
    ...unsent,
    outcome: 'INVALID',
    errorCode: 'VALIDATION',
    hooked: null,
    country: null,
    campaign: null,
  }),

  // Ids beyond 2^53, which floating-point numbers cannot tell apart
  result(9_007_199_254_740_992n, 10, { campaign: 'summer' }),
  result(9_007_199_254_740_993n, 10, { campaign: 'summer', parts: 4 }),
  statusEvent(9_007_199_254_740_992n, 10, 14),
  statusEvent(9_007_199_254_740_993n, 10, 16, { status: 'SIM FULL' }),
  result(9_223_372_036_854_775_807n, 10, { ...pipeline, campaign: 'summer' }),
  statusEvent(9_223_372_036_854_775_807n, 10, 17, { ...claimed, type: 'whatsapp' }),

  // Unverified callbacks
  result(31n, 12),
  statusEvent(31n, 12, 2, claimed),
  result(32n, 12, pipeline),
  statusEvent(32n, 12, 2, { ...claimed, type: 'viber' }),
  statusEvent(32n, 27, 0, { type: 'viber', status: 'UNDELIVERABLE', source: 'POLL', commandType: 'pipeline' }),
  result(33n, 12, pipeline),
  statusEvent(33n, 12, 6, { ...claimed, type: 'sms', status: 'REJECTED' }),
  statusEvent(33n, 12, 8, { ...claimed, type: 'voice' }),
  result(34n, 12, { hooked: null }),
  statusEvent(34n, 12, 9, claimed),
  result(31n, 15, { ...pipeline, account: 'second', tenant: null, campaign: null }),
  result(37n, 12),
  statusEvent(37n, 61, 1, givenUp),
  statusEvent(37n, 71, 0, { status: 'EXPIRED' }),
  result(38n, 12, pipeline),
  statusEvent(38n, 13, 0, { ...claimed, status: 'NO ROUTE' }),
  statusEvent(38n, 61, 2, { ...givenUp, type: 'viber', commandType: 'pipeline' }),

  // Statuses without a result: not written yet, deleted by retention, or of a message that busgate never sent
  statusEvent(35n, 13, 0),
  statusEvent(36n, 13, 1, claimed),

  // Written with the earlier schemas, between those with the current ones
  result(41n, 14, {}, { old: true }),
  statusEvent(41n, 14, 7, {}, { old: true }),
  result(42n, 14, pipeline, { old: true }),
  statusEvent(42n, 14, 8, claimed, { old: true }),
  result(43n, 14),
  statusEvent(43n, 14, 9, {}, { old: true }),
  result(44n, 14, { ...inDoubt, tenant: 'bank' }, { old: true }),

  // The same ids in another account, and the same campaign name of another tenant
  result(1n, 15, { account: 'second', tenant: 'bank' }),
  statusEvent(1n, 15, 3, { account: 'second', status: 'UNDELIVERABLE' }),
  result(2n, 15, { ...rejected, account: 'second', tenant: 'bank', campaign: null, errorCode: 'ACCESS_DENIED' }),
  result(4n, 15, { account: 'second', tenant: 'bank', type: 'telegram', country: 'PL' }),
  statusEvent(4n, 15, 2, {
    account: 'second',
    type: 'telegram',
    commandType: 'telegram',
    country: 'PL',
    updatedAt: at(15, 2),
  }),
  result(9_007_199_254_740_993n, 15, { account: 'second', tenant: null, campaign: null, country: 'DE' }),
  statusEvent(9_007_199_254_740_993n, 15, 16, { account: 'second', country: 'DE' }),

  // Messages that are billed by the call
  result(51n, 16, { ...called, type: 'call/otp', price: 0.1, code: '0421' }),
  ...[1, 2].map(commandPartition =>
    result(52n, 16 + commandPartition, { ...called, type: 'call/otp', price: 0.045, code: '1421', commandPartition }),
  ),
  result(53n, 16, { ...called, type: 'hlr', hlr: lookedUp }),
]
