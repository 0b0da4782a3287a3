import type { EventEmitter } from 'node:events'
import type { PauseKind, WithdrawalKind } from '../vocabulary/control.ts'
import type { DoubtCause, ErrorCode, Outcome, State } from '../vocabulary/lists.ts'
import type { BalanceFailure, DeadLetterCode, DeadLetterStage, EnvelopeOutcome, PauseReason } from './labels.ts'

/** Coordinates of a record. */
export interface RecordPlace {
  topic: string
  partition: number
  offset: number
}

/**
 * The events of a worker whose names and fields stay. An event covers a whole batch, envelope or cycle, and contains no message's
 * text, phone number, key or token. `country` is a code of ISO 3166. Other events that a worker emits are internal: they may change.
 */
export interface StableEvents {
  /** Commands were read from a topic. */
  'commands.consumed': { topic: string; count: number }
  /**
   * Results were committed, with the progress. There is one event for each group of equal labels; `account` is null if
   * nothing was sent; `parts` and `price` are sums; `shares` are those of tenants.
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
   * A request ended. `outcome` is answered, refused, denied, not_sent or unknown; `seconds` is the time from the first byte
   * to the classified answer; `traceId` is that of one of its commands, if any carried a trace.
   */
  'envelope.finished': {
    account: string
    outcome: EnvelopeOutcome
    operations: number
    seconds: number
    traceId?: string | null
  }
  /** The account is held back: it sends only probes until one passes. `keyPlace` names the setting of its key. */
  'account.paused': { account: string; reason: PauseReason; retryInMs: number; error: string; keyPlace: string }
  /** A probe of the account passed, so it resumes sending. */
  'account.resumed': { account: string }
  /** The gateway reported the balance of an account. `currency` has three letters, or is `other`. */
  'balance.read': { account: string; currency: string; amount: number }
  /**
   * The balance of an account cannot be read; commands may still be sent. Reported once for each reason until it is read.
   * `reason` is refused, denied, not_sent, unknown or unreadable; `keyPlace` names the setting of the key.
   */
  'balance.failed': { account: string; reason: BalanceFailure; error: string; keyPlace: string }
  /** Commands are in doubt: perhaps sent. */
  'doubt.opened': { cause: DoubtCause; count: number }
  /** A doubt ended SENT or UNRESOLVED, or with the result of a further request. */
  'doubt.resolved': { outcome: Outcome }
  /**
   * Unreadable records became dead letters. `first` are the coordinates of the first; null for a callback.
   */
  'deadLetter.published': { stage: DeadLetterStage; code: DeadLetterCode; count: number; first: RecordPlace | null }
  /**
   * A callback is on the topic. `verified`: it came to the message's own address. `contradicts`: its status text contradicts its
   * `success`. `commandType` and `country` are null if only the result has them.
   */
  'callback.accepted': {
    type: string
    commandType: string | null
    country: string | null
    state: State
    verified: boolean
    contradicts: boolean
  }
  /** The verdict of these messages did not come in the expected time. */
  'callback.missing': { type: string; count: number }
  /** The time from sending to the callback that says DELIVERED. */
  'delivery.latency': { type: string; country: string | null; seconds: number }
  /** The reconciler published a verdict: DELIVERED, FAILED or UNKNOWN. */
  'verdict.found': { type: string; country: string | null; state: State }
  /** An operator paused an account, a topic, a campaign or a tenant, or quiet hours began. `at` and `until` are milliseconds since 1970. */
  'pause.begun': { kind: PauseKind; name: string; by: string; at: number; until: number | null; reason: string | null }
  /** A pause ended: an operator resumed it, or its time is over. */
  'pause.ended': { kind: PauseKind; name: string; by: string; at: number }
  /** An operator withdrew a campaign, a tenant, a correlationId or one message. */
  'withdrawal.begun': {
    kind: WithdrawalKind
    name: string
    by: string
    at: number
    until: number | null
    reason: string | null
  }
  /** A withdrawal ended: an operator ended it, or all its commands have ended. */
  'withdrawal.ended': { kind: WithdrawalKind; name: string; by: string; at: number }
}

/**
 * Emits the events of a worker: create one with `new Telemetry()` to listen before the worker starts. A listener must return at once;
 * an error in it is logged, and has no other effect.
 */
export interface Telemetry extends EventEmitter<{ [K in keyof StableEvents]: [event: StableEvents[K]] }> {
  readonly kind: 'busgate.Telemetry'
}
