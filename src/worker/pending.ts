import type { Account } from '../accounts/account.ts'
import { backOffMs } from '../back-off.ts'
import type { Session } from '../bus/port.ts'
import { withdrawalText } from '../control/change.ts'
import type { Controls } from '../control/controls.ts'
import type { Command } from '../records/command.ts'
import type { Origin, ResultDetails } from '../records/result.ts'

/** Watches for callbacks of a command in doubt before it is POSTed again. */
export interface CallbackWatch {
  /** Reads all callbacks that exist at the call. @returns false if it cannot within its time limit */
  catchUp(): Promise<boolean>
  /** Whether `catchUp` succeeded recently and reading continues. */
  isCaughtUp(): boolean
  /** Requeues the command once `catchUp` succeeds. */
  requeueWhenCaughtUp(): void
}

/** Refusals of a command's whole envelopes with an unknown error text. */
export interface Refusal {
  /** Time of the last refusal, monotonic milliseconds. */
  at: number
  /** Number of times the command was refused alone while other commands of the account passed in between. */
  counted: number
  /** The same, plus every refusal since the last counted one; determines the back-off. */
  tries: number
  error: string
}

/** A valid command between its partition's session and its result: the command, its original record, and its history. */
export interface Pending extends Origin {
  command: Command
  /** The session that settles it: that of its own partition, or of the doubts that it was moved to. */
  session: Session
  /** Offset on the partition of `session`. That of `record` differs once the command is in the doubts. */
  offset: number
  /** Bytes of memory that it counts for in its session. */
  heldBytes: number
  /** When its record was appended, as far as known; milliseconds since 1970. */
  appendedAt: number
  /** Start of its age, milliseconds since 1970: when its record was appended, or the time before which it must not be sent. */
  since: number
  /** When it is, or was, ready to be packed; monotonic milliseconds. */
  readyAt: number
  /** Start of its linger time, time at the broker included; monotonic milliseconds. */
  lingersSince: number
  /** Number of times it was throttled individually; absent if never. */
  throttled?: number
  /** Number of POSTs that may have been executed. Refused envelopes and throttled commands do not count. */
  attempts: number
  /** Whether an earlier POST may have been executed; later outcomes do not change this. */
  doubted: boolean
  /**
   * Earliest time at which one of its POSTs can have begun, by busgate's clocks, milliseconds since 1970; absent if there was
   * none or if unknown.
   */
  postedSince?: number
  /** Why it cannot be sent again: its content is lost, and `command` holds the remaining fields. */
  unreadable?: string
  /** Absent if it was not POSTed before, or if no callback can prove anything. */
  callbackWatch?: CallbackWatch
  /** Whether it is in an envelope, so that Delivery decides its outcome. */
  packed: boolean
  /** The final result, if a callback arrived while it was packed. */
  proof?: ResultDetails
  /** Whether it is settled or dropped. */
  over: boolean
  onOver?: () => void
  /** Called if it ends without having used its id. */
  idUnused?: (pending: Pending) => void
  /** Absent if no envelope of it was refused with an unknown error text. */
  refusal?: Refusal
}

/** Ends the processing of a command that is settled, or dropped and read again later. */
export function end(pending: Pending): void {
  pending.over = true
  pending.onOver?.()
}

export function hasPaused(pendings: readonly Pending[], controls: Controls): boolean {
  controls.update()
  return controls.hasPauses && pendings.some(({ command, topic }) => controls.stopping(command, topic) !== null)
}

/** Why a command must not be sent any more. */
export interface Expiry {
  errorCode: 'DEADLINE' | 'MAX_AGE' | 'WITHDRAWN'
  error?: string
}

const deadline: Expiry = { errorCode: 'DEADLINE' }
const maxAge: Expiry = { errorCode: 'MAX_AGE' }

export interface ExpiryRules {
  maxAgeMs: number
  controls: Controls
}

/** The latest time at which a command may be sent, milliseconds since 1970. */
export function expiresAt({ command, since }: Pick<Pending, 'command' | 'since'>, maxAgeMs: number): number {
  return Math.min(command.deadline ?? Number.POSITIVE_INFINITY, since + maxAgeMs)
}

/** Why a command must not be sent any more, or null. */
export function expiry(
  { command, since, appendedAt }: Pick<Pending, 'command' | 'since' | 'appendedAt'>,
  now: number,
  { maxAgeMs, controls }: ExpiryRules,
): Expiry | null {
  if (command.deadline !== null && now > command.deadline) return deadline
  if (now > since + maxAgeMs) return maxAge
  const withdrawal = controls.withdrawing(command, appendedAt)
  return withdrawal && { errorCode: 'WITHDRAWN', error: withdrawalText(withdrawal) }
}

/**
 * Refusals until a suspect is rejected. A suspect is a command that was refused alone with an unknown error text; it is retried
 * alone, with a back-off. If the gateway refuses a share p of all requests regardless of content, p^6 of the commands are
 * wrongly rejected.
 */
const refusalsToReject = 6
const firstRetryMs = 250
const longestRetryMs = 30_000

export const isSuspect = ({ refusal }: Pending): boolean => refusal !== undefined && refusal.tries > 0

/** Whether another command of the account began and passed after the refusal. */
export const isOvertaken = ({ at }: Refusal, { passedAt }: Account): boolean => passedAt > at

/**
 * Records a refusal with an unknown error text, and the back-off of a command that was refused alone.
 * @param haveOthersPassed whether other commands of the account passed since the last refusal
 * @returns whether the envelope's only command is to blame for it
 */
export function noteRefusal(
  pendings: readonly Pending[],
  error: string,
  haveOthersPassed: boolean,
  now: number,
): boolean {
  const isAlone = pendings.length === 1
  for (const pending of pendings) {
    const { counted = 0, tries = 0 } = pending.refusal ?? {}
    pending.refusal = { at: now, counted, tries, error }
    if (!isAlone) continue
    const further = haveOthersPassed || tries === 0 ? 1 : 0
    pending.refusal.counted += further
    pending.refusal.tries = further ? pending.refusal.counted : tries + 1
    pending.readyAt = now + backOffMs(firstRetryMs, longestRetryMs, pending.refusal.tries)
  }
  return isAlone && pendings[0]!.refusal!.counted >= refusalsToReject
}
