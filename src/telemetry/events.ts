import { EventEmitter } from 'node:events'
import type { ErrorPlace } from './error.ts'

/**
 * What the rooms tell the world. Metrics, logs and traces listen; no room calls them itself.
 * One event tells of a whole batch, envelope or cycle: nothing here is emitted once a command on the hot path.
 * No event carries a message's text, a phone number, a key or a token.
 */
export interface Events {
  /** A role of the process does its work from now on; others may still start. */
  'role.started': { role: 'worker' | 'callbacks' | 'reconciler' }
  'commands.consumed': { topic: string; count: number }
  /** After the transaction that holds them was committed. One event a group of equal labels. */
  'results.published': { type: string; outcome: string; errorCode: string | null; count: number }
  /** outcome: answered, refused, denied, not_sent, unknown. seconds: from the first byte to the classified answer. */
  'envelope.finished': {
    account: string
    outcome: string
    operations: number
    seconds: number
    /** Of one of its commands, where one carried a trace. */
    traceId?: string | null
  }
  'gateway.retry': { reason: string; count: number }
  /** seconds: how long the next envelope had to wait for the account's rate. */
  'rate.waited': { account: string; seconds: number }
  'account.paused': { account: string; reason: string; retryInMs: number; error: string }
  'account.resumed': { account: string }
  /** stale: the bus told an older checkpoint than it had confirmed to this process; the confirmed one counts. */
  'session.opened': { topic: string; partition: number; offset: number; inDoubt: number; stale: boolean; took: number }
  'session.lost': { topic: string; partition: number; stage: string; error: Error }
  'session.closed': { topic: string; partition: number }
  'session.openFailed': { topic: string; partition: number; error: Error }
  'cycle.committed': { topic: string; partition: number; records: number; windowUsed: number }
  /** One transaction with the progress of so many partitions; seconds: until the brokers had confirmed it. */
  'commit.confirmed': { partitions: number; records: number; seconds: number }
  /** So many offsets that were not worked on yet are gone from the log: retention, deleted records, an unclean election. */
  'log.cut': { topic: string; partition: number; lost: number }
  'doubt.opened': { cause: string; count: number }
  /** outcome: SENT or UNRESOLVED; a doubt that was sent again is not resolved yet. */
  'doubt.resolved': { outcome: string }
  /** result: sent, not_found, verdict, pending, inconclusive, unanswered. */
  'status.polled': { result: string }
  /** The committed offset carried no window: what is below `until` waits until the results tell what was answered before. */
  'session.unchecked': { topic: string; partition: number; until: number }
  /** The results cannot be read for that. */
  'answered.unavailable': { error: Error }
  /** They were read, for so many partitions. known: answers found about what waits. */
  'answered.read': { sessions: number; known: number; took: number }
  /** Records that were answered before and are passed over. */
  'answered.found': { topic: string; count: number }
  /** The reconciler cannot read the statuses; a record of the results cannot be read. */
  'statuses.unreadable': { topic: string; partition: number; error: Error }
  /** error: of a batch that cannot be read, from that offset on; null: the record is no result. */
  'result.unreadable': { topic: string; partition: number; offset: number; error: string | null }
  /** Statuses cannot be read: callbacks do not help to resolve doubts meanwhile. partition: null where none can be seen. */
  'evidence.unavailable': { topic: string; partition: number | null; error: Error }
  'deadLetter.published': { stage: string; code: string; count: number }
  /** A record took the place of a longer one, which its topic does not take. Told at each attempt to write it. */
  'record.shortened': { topic: string }
  /** The registry could not be asked: records with that schema wait, their neighbours go on. null: at the start. */
  'registry.unavailable': { schemaId: number | null; error: Error }
  'registry.available': { schemaId: number | null }
  /** The brokers cannot be reached at the start, which waits for them. */
  'bus.unavailable': { error: Error }
  'bus.log': { level: 'error' | 'warn' | 'info' | 'debug'; message: string; error?: string }
  /** A hook address had to leave out correlation and tenant, to stay within callbacks.urlMaxLength. */
  'hook.shortened': object
  'callback.accepted': { type: string; state: string; verified: boolean }
  /** error: what made the publish fail, or went wrong here. */
  'callback.refused': { reason: string; error?: ErrorPlace }
  /** What was refused since it was last told, by its reasons; isOurs: for some of them the sender can do nothing. */
  'callbacks.refused': { counts: Record<string, number>; error: ErrorPlace | null; isOurs: boolean }
  'delivery.latency': { type: string; seconds: number; traceId?: string | null }
  /** The verdict of these messages did not come in the expected time. */
  'callback.missing': { type: string; count: number }
  /** The reconciler published a verdict. state: DELIVERED, FAILED, UNKNOWN. */
  'verdict.found': { type: string; state: string }
  /** Ids that the reconciler had to forget to stay within its memory. */
  'verdicts.forgotten': { count: number }
  /** Operators have paused an account, a topic or a tenant. at, until: milliseconds since 1970. */
  'pause.begun': { kind: string; name: string; by: string; at: number; until: number | null; reason: string | null }
  /** It goes on: somebody said so, or its time is over. */
  'pause.ended': { kind: string; name: string; by: string; at: number }
  /** A record of the control topic tells of no pause that this version knows. */
  'pause.unreadable': { topic: string; partition: number; offset: number; error: Error }
  /** The control topic cannot be read: pauses are not heard of. */
  'pauses.unavailable': { topic: string; error: Error }
  /** currency: three letters, or `other`. */
  'balance.read': { account: string; currency: string; amount: number }
}

type Listeners = { [K in keyof Events]: [event: Events[K]] }

/** The typed emitter that is handed to every room. */
export class Telemetry extends EventEmitter<Listeners> {}
