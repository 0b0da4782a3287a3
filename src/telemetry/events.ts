import { EventEmitter } from 'node:events'
import type { Role } from '../vocabulary/lists.ts'
import { type ErrorPlace, placeOf } from './error.ts'
import type { CallbackRefusal, Handling, PauseReason, PollResult, RetryReason } from './labels.ts'
import type { RecordPlace, StableEvents } from './stable-events.ts'

/** What a session failed at. */
export type SessionStage = 'fetch' | 'handle' | 'commit'

/**
 * All events of a worker, the stable ones and those that may change. Metrics, logs and traces listen to them; no other code calls
 * these directly. The hot path emits none per command. docs/logs.md shows each docstring to readers of the log.
 */
export interface Events extends StableEvents {
  /** A role of the process started; others may still be starting. */
  'role.started': { role: Role }
  /** A role of the settings does not run, because `callbacks.secret` is not set. */
  'role.off': { role: Role; reason: string }
  /** All roles of the process have started. `callbacks` and `telemetry` are the ports that it listens on. */
  'worker.started': { version: string; callbacks: number | null; telemetry: number }
  /** A signal stops the process, which first finishes requests in flight. */
  'worker.stopping': { signal: string }
  /** Requests in flight are finished; the process exits with 0. */
  'worker.stopped': object
  /** The process cannot continue, or did not stop in time. It exits with 1; let a supervisor restart it. */
  'worker.failed': { error: Error }
  /** An uncaught error ends the process at once. `frames` says where it was thrown. */
  'worker.crashed': { error: Error; frames: readonly string[] }
  /** The file of a secret cannot be used; its last valid value stays in use. `setting` names the file. */
  'secret.unusable': { setting: string; reason: string }
  /** The file of the secret is valid again. */
  'secret.usable': { setting: string }
  /** Operations that were not sent wait to be retried. */
  'gateway.retry': { reason: RetryReason; count: number }
  /** Results with errorCode COUNTRY were committed; `country` is null if it is unknown. */
  'country.refused': { account: string; country: string | null; count: number }
  /** An envelope had to wait for the account's rate. */
  'rate.waited': { account: string; seconds: number }
  /** Status polls of the account are held back: they fail where its commands may pass. Doubts wait for them. */
  'polls.paused': { account: string; reason: PauseReason; retryInMs: number; error: string; keyPlace: string }
  /**
   * This process owns the partition and continues at the committed offset, `committed`. It reads from `offset` on: below
   * `committed` only to know ids that may be repeated. `inDoubt` counts commands that another owner may have sent; `took`
   * is in seconds; `stale`: the bus returned an older checkpoint than it had confirmed to this process; the
   * confirmed one counts.
   */
  'session.opened': {
    topic: string
    partition: number
    offset: number
    committed: number
    inDoubt: number
    stale: boolean
    took: number
  }
  /** A session ended by a failure. The partition is opened again if this process still owns it. */
  'session.lost': { topic: string; partition: number; stage: SessionStage; error: Error }
  /** This process no longer owns the partition. */
  'session.closed': { topic: string; partition: number }
  /** A partition could not be opened and is retried. Each cause is reported once until it is open. */
  'session.openFailed': { topic: string; partition: number; error: Error }
  /** The progress of one partition was committed. `windowUsed` is the used share of its window. */
  'cycle.committed': { topic: string; partition: number; records: number; windowUsed: number }
  /** A transaction with the progress of `partitions` partitions was confirmed. `seconds` is its duration. */
  'commit.confirmed': { partitions: number; records: number; seconds: number }
  /**
   * Offsets disappeared from the log before they were processed: retention, deleted records, or, with `end`, an unclean
   * election: the log now ends at `from`, and had been processed up to `to`; with `anew`, its topic was deleted and made anew.
   * `unsent` commands and at most `unread` more were certainly not sent (`unsentOffsets`); `perhapsSent` and at most `unchecked`
   * more perhaps were (`perhapsSentOffsets`). Commands of doubts end UNRESOLVED; messages (results and overdue) get no final
   * status.
   */
  'log.cut': {
    topic: string
    partition: number
    recordsOf: 'commands' | 'doubts' | 'messages'
    end: { from: number; to: number } | null
    anew: boolean
    unsent: number
    unread: number
    unsentOffsets: string
    perhapsSent: number
    unchecked: number
    perhapsSentOffsets: string
  }
  /**
   * A producer has had a transaction open for half a minute: nothing beyond `offset` of the partition can be read. Its ids
   * are null if this client may not see them, and `error` says why.
   */
  'transaction.open': {
    topic: string
    partition: number
    offset: number
    producerId: number | null
    transactionalId: string | null
    error: string | null
  }
  /** The open transaction has ended, or this process no longer reads the partition. */
  'transaction.ended': { topic: string; partition: number }
  /** Topics that must not be compacted were set to `cleanup.policy=compact` while this process runs. The next worker refuses to start. */
  'topics.compacted': { topics: readonly string[] }
  /** The doubts of `count` commands of a partition were deleted, or their topic was: they end UNRESOLVED. */
  'doubts.lost': { topic: string; partition: number; count: number }
  /** The gateway was polled for a status: sent, not_found, verdict, pending, inconclusive, unreadable or unanswered. */
  'status.polled': { result: PollResult }
  /**
   * Somebody else than busgate wrote the committed offset: a reset, or a program that used the group. Records below it count
   * as done.
   */
  'session.foreignOffset': { topic: string; partition: number; offset: number }
  /** The committed offset has no window: records below `until` wait until the results say which were answered before. */
  'session.unchecked': { topic: string; partition: number; until: number }
  /** The results cannot be read to find answered commands; records that may have been answered wait. */
  'answered.unavailable': { error: Error }
  /** The results were read for `sessions` partitions; `known` answers were found. `took` is in seconds. */
  'answered.read': { sessions: number; known: number; took: number }
  /** Records were answered before and are skipped. */
  'answered.found': { topic: string; count: number }
  /** The reconciler cannot read the statuses of a partition. */
  'statuses.unreadable': { topic: string; partition: number; error: Error }
  /**
   * A record of the results topic is not a result, or, if `error` is given, the batch that begins there cannot be read, or its
   * schema is missing.
   */
  'result.unreadable': { topic: string; partition: number; offset: number; error: string | null }
  /** Statuses cannot be read, so callbacks cannot resolve doubts. */
  'evidence.unavailable': { topic: string; partition: number; error: Error }
  /**
   * busgate failed while it handled one thing from outside. Only that thing is affected: a command becomes a dead letter, or
   * stays in doubt if it was perhaps sent; a callback is answered 503. `place` is the record's; `isTold`: another was logged
   * less than a second ago.
   */
  'fault.contained': { handling: Handling; place: RecordPlace | null; error: ErrorPlace; isTold: boolean }
  /** A record was shortened to the limit of its topic. Each attempt to write it counts. */
  'record.shortened': { topic: string }
  /**
   * The registry does not answer: records of `count` schemas wait, one of them `schemaId`, first needed by the record at
   * `place`; others continue. At the start both are null. Reported once a minute.
   */
  'registry.unavailable': { schemaId: number | null; count: number; place: RecordPlace | null; error: Error }
  /** The registry answers again. */
  'registry.available': object
  /** The brokers cannot be reached at the start, which waits for them. Reported once a minute. */
  'bus.unavailable': { error: Error }
  /** A message of the Kafka client or the group membership. */
  'bus.log': { level: 'error' | 'warn' | 'info' | 'debug'; message: string; error?: string }
  /** A hook address left out correlationId, tenant and campaign to stay within callbacks.urlMaxLength. */
  'hook.shortened': object
  /** A callback was refused. `error` is why the publish, or busgate itself, failed. */
  'callback.refused': { reason: CallbackRefusal; error?: ErrorPlace }
  /**
   * Callbacks refused since the last such event, by reason. `isOurs`: some of the reasons are on our side.
   */
  'callbacks.refused': { counts: Partial<Record<CallbackRefusal, number>>; error: ErrorPlace | null; isOurs: boolean }
  /** The reconciler forgot ids because its memory was full. */
  'verdicts.forgotten': { count: number }
  /** Records of the control topic are not changes that this version knows; `offset` is that of the first. */
  'control.unreadable': { topic: string; partition: number; offset: number; count: number; error: Error }
  /** The control topic cannot be read: pauses and withdrawals stay, and changes are not seen. */
  'control.unavailable': { topic: string; error: Error }
  /** More is paused and withdrawn than a process keeps: it sends nothing. */
  'control.overfull': { topic: string; reason: string }
  /** The control topic can be read again, and all that is in force is known. */
  'control.available': { topic: string }
  /** Further pauses and withdrawals began or ended; they are not logged one by one. */
  'control.crowded': { topic: string; count: number }
  /**
   * The process cannot report its state on the topic of reports. It works, but `status`, `message` and the page do not know of it.
   * Logged once until it can.
   */
  'report.unavailable': { topic: string; error: string }
  /** The process reports its state again. */
  'report.available': { topic: string }
  /**
   * The process holds no partition, because the gateway has not accepted a key yet: `error` says where and why. It retries by
   * itself. Reported once a minute.
   */
  'gateway.unproved': { error: string }
  /** The gateway accepts the key of an account, the first since the start: roles that waited for it join their group. */
  'gateway.proved': { account: string }
}

type Listeners = { [K in keyof Events]: [event: Events[K]] }

/** Typed emitter of all events of a worker. */
export class Telemetry extends EventEmitter<Listeners> {
  readonly kind = 'busgate.Telemetry'

  /** Never throws: an error in a listener is a contained fault. */
  override emit: EventEmitter<Listeners>['emit'] = (name, ...event) => {
    try {
      return super.emit(name, ...event)
    } catch (error) {
      if (name !== 'fault.contained') this.#failed(error as Error)
      return true
    }
  }

  #failed(error: Error): void {
    this.emit('fault.contained', { handling: 'telemetry', place: null, error: placeOf(error), isTold: false })
  }
}
