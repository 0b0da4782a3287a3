import type { Worker } from '../../src/create-worker.ts'
import { version } from '../../src/package.ts'
import type { Events, Telemetry } from '../../src/telemetry/events.ts'
import type { Telemetry as StableTelemetry } from '../../src/telemetry/stable-events.ts'

/** Builds one event of each kind. `n` stands for every value that differs between messages. */
export const buildEvents = (n: number): { [K in keyof Events]: Events[K] } => ({
  'role.started': { role: 'worker' },
  'role.off': { role: 'callbacks', reason: 'callbacks.secret (BUSGATE_CALLBACKS_SECRET) is not set' },
  'worker.started': { version, callbacks: 8080, telemetry: 9464 },
  'worker.stopping': { signal: 'SIGTERM' },
  'worker.stopped': {},
  'worker.failed': { error: new Error(`the stop took longer than ${n} s`) },
  'worker.crashed': { error: new TypeError('x is not a function'), frames: [`at send (file:///app/dist/a.js:${n}:1)`] },
  'secret.unusable': { setting: 'gateway.apiKeyFile', reason: 'is empty' },
  'secret.usable': { setting: 'gateway.apiKeyFile' },
  'commands.consumed': { topic: 'busgate.commands', count: n },
  'results.published': {
    ...{ type: 'sms', account: 'default', outcome: 'SENT', errorCode: null, count: 2, parts: 3, price: 0.5 },
    shares: new Map([[`made-up-${n}`, { count: 2, parts: 3 }]]),
  },
  'country.refused': { account: 'default', country: 'LK', count: n },
  'envelope.finished': { account: 'default', outcome: 'answered', operations: 7, seconds: n / 1000, traceId: null },
  'gateway.retry': { reason: 'throttled', count: 3 },
  'rate.waited': { account: 'default', seconds: n / 1000 },
  'account.paused': {
    ...{ account: 'default', reason: 'denied', retryInMs: n, error: `Access denied ${n}` },
    keyPlace: 'gateway.apiKey (BUSGATE_GATEWAY_API_KEY)',
  },
  'gateway.unproved': {
    error: `holds no partition until the gateway at http://gw (gateway.url) accepts a key: account default: timed out after ${n} ms`,
  },
  'gateway.proved': { account: 'default' },
  'polls.paused': {
    ...{ account: 'default', reason: 'denied', retryInMs: n, error: `Access denied ${n}` },
    keyPlace: 'gateway.apiKey (BUSGATE_GATEWAY_API_KEY)',
  },
  'account.resumed': { account: 'default' },
  'session.opened': {
    ...{ topic: 'busgate.commands', partition: 0, offset: n, committed: n + 570 },
    ...{ inDoubt: n, stale: false, took: n },
  },
  'session.lost': { topic: 'busgate.commands', partition: 0, stage: 'commit', error: fencedError(n) },
  'session.closed': { topic: 'busgate.commands', partition: 0 },
  'session.openFailed': { topic: 'busgate.commands', partition: 0, error: unreachable(n) },
  'cycle.committed': { topic: 'busgate.commands', partition: 0, records: n, windowUsed: n },
  'commit.confirmed': { partitions: n, records: n, seconds: n },
  'doubt.opened': { cause: 'timeout', count: 4 },
  'doubt.resolved': { outcome: 'SENT' },
  'status.polled': { result: 'sent' },
  'statuses.unreadable': { topic: 'busgate.statuses', partition: 0, error: unreachable(n) },
  'result.unreadable': { topic: 'busgate.results', partition: 0, offset: n, error: null },
  'session.foreignOffset': { topic: 'busgate.commands', partition: 0, offset: n },
  'session.unchecked': { topic: 'busgate.commands', partition: 0, until: n },
  'answered.unavailable': { error: unreachable(n) },
  'answered.read': { sessions: n, known: n, took: n },
  'answered.found': { topic: 'busgate.commands', count: 8 },
  'evidence.unavailable': { topic: 'busgate.statuses', partition: 0, error: unreachable(n) },
  'deadLetter.published': { stage: 'decode', code: 'SCHEMA_NOT_FOUND', count: 5, first: place(n) },
  'record.shortened': { topic: 'busgate.results' },
  'registry.available': {},
  'fault.contained': {
    handling: 'command',
    place: place(n),
    error: { name: 'TypeError', at: ['at readCommand (records/command.ts:1:1)'] },
    isTold: false,
  },
  'registry.unavailable': { schemaId: n, count: 1, place: place(n), error: unreachable(n) },
  'bus.unavailable': { error: unreachable(n) },
  'log.cut': {
    topic: 'busgate.commands',
    partition: 1,
    recordsOf: 'commands',
    end: null,
    anew: false,
    unsent: n,
    unread: 0,
    unsentOffsets: `0-${n - 1}`,
    perhapsSent: 2,
    unchecked: 0,
    perhapsSentOffsets: '12-13',
  },
  'doubts.lost': { topic: 'busgate.doubts', partition: 1, count: 12 },
  'transaction.open': {
    topic: 'busgate.commands',
    partition: 1,
    offset: n,
    producerId: n,
    transactionalId: null,
    error: 'TOPIC_AUTHORIZATION_FAILED',
  },
  'transaction.ended': { topic: 'busgate.commands', partition: 1 },
  'topics.compacted': { topics: ['busgate.results'] },
  'bus.log': { level: 'warn', message: `the broker 127.0.0.1:${n} ended the connection` },
  'hook.shortened': {},
  'callback.accepted': {
    ...{ type: `made-up-${n}`, commandType: `made-up-${n}`, country: `made-up-${n}` },
    ...{ state: 'DELIVERED', verified: true, contradicts: true },
  },
  'callback.refused': { reason: 'expired' },
  'callbacks.refused': { counts: { expired: 1 }, error: null, isOurs: false },
  'delivery.latency': { type: `made-up-${n}`, country: `made-up-${n}`, seconds: n },
  'callback.missing': { type: 'sms', count: 6 },
  'verdict.found': { type: 'sms', country: 'UA', state: 'DELIVERED' },
  'verdicts.forgotten': { count: 7 },
  'pause.begun': { kind: 'tenant', name: `made-up-${n}`, by: 'x', at: n, until: null, reason: null },
  'pause.ended': { kind: 'tenant', name: `made-up-${n}`, by: 'x', at: n },
  'withdrawal.begun': { kind: 'campaign', name: `made-up-${n}`, by: 'x', at: n, until: n, reason: 'y' },
  'withdrawal.ended': { kind: 'campaign', name: `made-up-${n}`, by: 'x', at: n },
  'control.unreadable': { topic: 'busgate.control', partition: 0, offset: n, count: 1, error: unreachable(n) },
  'control.overfull': { topic: 'busgate.control', reason: 'nothing is sent' },
  'control.available': { topic: 'busgate.control' },
  'report.unavailable': { topic: 'busgate.workers', error: 'no such topic' },
  'report.available': { topic: 'busgate.workers' },
  'control.crowded': { topic: 'busgate.control', count: n },
  'control.unavailable': { topic: 'busgate.control', error: unreachable(n) },
  'balance.read': { account: 'default', currency: 'other', amount: n },
  'balance.failed': {
    ...{ account: 'default', reason: 'denied', error: `Access denied ${n}` },
    keyPlace: 'gateway.apiKey (BUSGATE_GATEWAY_API_KEY)',
  },
})

/** The error that ends a session whose partition has a newer owner. */
export function fencedError(n: number): Error {
  const cause = Object.assign(new Error(`epoch ${n}`), { type: 'INVALID_PRODUCER_EPOCH' })
  return new Error('commit failed', { cause })
}

const place = (offset: number) => ({ topic: 'busgate.commands', partition: 0, offset })

const unreachable = (n: number): Error =>
  Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${n}`), { code: 'ECONNREFUSED' })

/** All events of a worker, the internal ones too. */
export const allEventsOf = ({ telemetry }: Pick<Worker, 'telemetry'>) => telemetry as Telemetry

/** As a service passes it to a worker. */
export const asStable = (telemetry: Telemetry) => telemetry as StableTelemetry
