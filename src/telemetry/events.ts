import { EventEmitter } from 'node:events'
import type { DoubtCause, ErrorCode, Outcome, Role, State } from '../protocol/index.ts'
import type { ErrorPlace } from './error.ts'
import type {
  CallbackRefusal,
  DeadLetterCode,
  DeadLetterStage,
  EnvelopeOutcome,
  PauseKind,
  PauseReason,
  PollResult,
  RetryReason,
  WithdrawalKind,
} from './labels.ts'

/** RecordPlace says where a record stands. */
export interface RecordPlace {
  topic: string
  partition: number
  offset: number
}

/** SessionStage says where a session failed: when its partitions were dealt out, in reading, in committing. */
export type SessionStage = 'assigned' | 'fetch' | 'commit'

/**
 * Events is what the rooms tell the world. Metrics, logs and traces listen; no room calls them itself. One event tells
 * of a whole batch, envelope or cycle: nothing here is emitted once a command on the hot path. No event carries a
 * message's text, a phone number, a key or a token. docs/logs.md shows each docstring to whoever reads the log.
 */
export interface Events {
  /** A role of the process does its work from now on; others may still start. */
  'role.started': { role: Role }
  /** All roles of the process have started. `callbacks` and `telemetry` are the ports that it listens on. */
  'worker.started': { version: string; callbacks: number | null; telemetry: number }
  /** A signal asked the process to stop: it finishes what is in flight. */
  'worker.stopping': { signal: string }
  /** What was in flight is finished; the process exits with 0. */
  'worker.stopped': object
  /** The process cannot go on by itself, or did not stop in time. It exits with 1, to be started again. */
  'worker.failed': { error: Error }
  /** An error that nobody caught ends the process at once. `frames` says where it was thrown. */
  'worker.crashed': { error: Error; frames: readonly string[] }
  /** Commands were read from a topic. */
  'commands.consumed': { topic: string; count: number }
  /**
   * Results were committed, with the progress. There is one event for each group of equal labels; `account` is null of what
   * was not sent; `parts` and `price` are sums; `shares` are those of tenants.
   */
  'results.published': {
    type: string
    account: string | null
    outcome: Outcome
    errorCode: ErrorCode | null
    count: number
    parts: number
    price: number
    shares: ReadonlyMap<string | null, { count: number; parts: number }>
  }
  /**
   * A request ended. `outcome` is answered, refused, denied, not_sent or unknown; `seconds` go from the first byte to the
   * classified answer; `traceId` is that of one of its commands, where one carried a trace.
   */
  'envelope.finished': {
    account: string
    outcome: EnvelopeOutcome
    operations: number
    seconds: number
    traceId?: string | null
  }
  /** Operations that were not sent wait to be sent again. */
  'gateway.retry': { reason: RetryReason; count: number }
  /** An envelope had to wait for the account's rate. */
  'rate.waited': { account: string; seconds: number }
  /** Nothing of this account is sent but probes, until one passes. */
  'account.paused': { account: string; reason: PauseReason; retryInMs: number; error: string }
  /** A probe of the account passed: its commands are sent again. */
  'account.resumed': { account: string }
  /**
   * This process works on the partition from now on, from `offset`. `inDoubt` counts what another owner may have sent;
   * `took` is in seconds; `stale` says that the bus told an older checkpoint than it had confirmed to this process, and
   * that the confirmed one counts.
   */
  'session.opened': { topic: string; partition: number; offset: number; inDoubt: number; stale: boolean; took: number }
  /** A session ended by a failure. The partition is opened again if this process still owns it. */
  'session.lost': { topic: string; partition: number; stage: SessionStage; error: Error }
  /** This process does not work on the partition any more. */
  'session.closed': { topic: string; partition: number }
  /** A partition could not be opened, which is tried again. Each cause is told once until it is open. */
  'session.openFailed': { topic: string; partition: number; error: Error }
  /** The progress of one partition was committed. `windowUsed` is the used share of its window. */
  'cycle.committed': { topic: string; partition: number; records: number; windowUsed: number }
  /** One transaction held the progress of so many partitions. `seconds` go on until the brokers confirmed it. */
  'commit.confirmed': { partitions: number; records: number; seconds: number }
  /**
   * Offsets are gone from the log before they were worked on: retention, deleted records, or, where `isEnd` says so, an unclean
   * election. `unsent` of them were certainly not sent, `unsentOffsets` tells which; `perhapsSent` of them may have been.
   */
  'log.cut': {
    topic: string
    partition: number
    unsent: number
    unsentOffsets: string
    perhapsSent: number
    isEnd: boolean
  }
  /**
   * A producer holds a transaction open: nothing behind `offset` could be read of the partition for half a minute. Its ids are
   * null where this client may not see them, and `error` says why.
   */
  'transaction.open': {
    topic: string
    partition: number
    offset: number
    producerId: number | null
    transactionalId: string | null
    error: string | null
  }
  /** The transaction that was open has ended, or this process does not read the partition any more. */
  'transaction.ended': { topic: string; partition: number }
  /** Topics were set to be compacted while this process runs, and must not be. The next worker refuses to start. */
  'topics.compacted': { topics: readonly string[] }
  /** Nobody can tell whether these commands were sent. */
  'doubt.opened': { cause: DoubtCause; count: number }
  /** A doubt ended SENT or UNRESOLVED, or with the result of a further request. */
  'doubt.resolved': { outcome: Outcome }
  /**
   * The topic of doubts was deleted, or made anew, with so many commands of a partition in doubt: they get no final result
   * and are not sent again.
   */
  'doubts.lost': { topic: string; partition: number; count: number }
  /** The gateway was asked what became of a message: sent, not_found, verdict, pending, inconclusive or unanswered. */
  'status.polled': { result: PollResult }
  /** The committed offset carried no window: what is below `until` waits until the results tell what was answered before. */
  'session.unchecked': { topic: string; partition: number; until: number }
  /** The results cannot be read for what was answered before; records that may have been answered wait. */
  'answered.unavailable': { error: Error }
  /** The results were read for so many partitions, and `known` answers found about what waits. `took` is in seconds. */
  'answered.read': { sessions: number; known: number; took: number }
  /** Records were answered before and are passed over. */
  'answered.found': { topic: string; count: number }
  /** The reconciler cannot read the statuses of a partition. */
  'statuses.unreadable': { topic: string; partition: number; error: Error }
  /** A record of the results is no result, or, where `error` says why, the batch that begins there cannot be read. */
  'result.unreadable': { topic: string; partition: number; offset: number; error: string | null }
  /**
   * Statuses cannot be read, so callbacks do not help to resolve doubts meanwhile. Without a partition none can be
   * seen.
   */
  'evidence.unavailable': { topic: string; partition: number | null; error: Error }
  /**
   * Records that nobody can read became dead letters. `first` is where the first of them stands; a callback has no
   * place.
   */
  'deadLetter.published': { stage: DeadLetterStage; code: DeadLetterCode; count: number; first: RecordPlace | null }
  /** A record took the place of a longer one, which its topic does not take. Each attempt to write it tells so. */
  'record.shortened': { topic: string }
  /**
   * The registry cannot be asked: records of `count` schemas wait, one of them `schemaId`, their neighbours go on. At the
   * start there is no schema. Told once a minute.
   */
  'registry.unavailable': { schemaId: number | null; count: number; error: Error }
  /** The registry answers again. */
  'registry.available': object
  /** The brokers cannot be reached at the start, which waits for them. */
  'bus.unavailable': { error: Error }
  /** The client of the brokers, or the membership in the group, has something to say. */
  'bus.log': { level: 'error' | 'warn' | 'info' | 'debug'; message: string; error?: string }
  /** A hook address had to leave out correlation, tenant and campaign, to stay within callbacks.urlMaxLength. */
  'hook.shortened': object
  /**
   * A callback is on the bus. `contradicts`: its status text says otherwise than its `success`. `commandType` and `country`
   * are null where only the result tells them.
   */
  'callback.accepted': {
    type: string
    commandType: string | null
    country: string | null
    state: State
    verified: boolean
    contradicts: boolean
  }
  /** A callback was refused. `error` is what made the publish fail, or went wrong here. */
  'callback.refused': { reason: CallbackRefusal; error?: ErrorPlace }
  /**
   * What was refused since the last such event, by its reasons. `isOurs`: for some of them the sender can do nothing.
   */
  'callbacks.refused': { counts: Partial<Record<CallbackRefusal, number>>; error: ErrorPlace | null; isOurs: boolean }
  /** The time from sending to the callback that said DELIVERED. */
  'delivery.latency': { type: string; seconds: number }
  /** The verdict of these messages did not come in the expected time. */
  'callback.missing': { type: string; count: number }
  /** The reconciler published a verdict: DELIVERED, FAILED or UNKNOWN. */
  'verdict.found': { type: string; country: string | null; state: State }
  /** The reconciler had to forget ids to stay within its memory. */
  'verdicts.forgotten': { count: number }
  /** Operators have paused an account, a topic or a tenant, or the quiet hours of an account begin. `at` and `until` are milliseconds since 1970. */
  'pause.begun': { kind: PauseKind; name: string; by: string; at: number; until: number | null; reason: string | null }
  /** What operators had paused goes on: somebody said so, or its time is over. */
  'pause.ended': { kind: PauseKind; name: string; by: string; at: number }
  /** Operators have withdrawn what was not sent yet of a campaign, a tenant or a correlationId, or one message. */
  'withdrawal.begun': {
    kind: WithdrawalKind
    name: string
    by: string
    at: number
    until: number | null
    reason: string | null
  }
  /** A withdrawal is over: somebody said so, or all commands that it was about have come to their end. */
  'withdrawal.ended': { kind: WithdrawalKind; name: string; by: string; at: number }
  /** A record of the control topic is no change that this version knows. */
  'control.unreadable': { topic: string; partition: number; offset: number; error: Error }
  /** The control topic cannot be read: what is paused and withdrawn stays so, and changes are not seen. */
  'control.unavailable': { topic: string; error: Error }
  /** The gateway told the balance of an account. `currency` has three letters, or is `other`. */
  'balance.read': { account: string; currency: string; amount: number }
}

type Listeners = { [K in keyof Events]: [event: Events[K]] }

/** The typed emitter that is handed to every room. */
export class Telemetry extends EventEmitter<Listeners> {
  /**
   * Never throws: what a listener throws ends the process, like any error that nobody catches, but not in the middle of
   * what the event tells of.
   */
  override emit: EventEmitter<Listeners>['emit'] = (name, ...event) => {
    try {
      return super.emit(name, ...event)
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
      return true
    }
  }
}
