import type { Account } from '../accounts/account.ts'
import type { Session } from '../bus/port.ts'
import { withdrawalText } from '../control/change.ts'
import type { Controls } from '../control/controls.ts'
import type { Command } from '../records/command.ts'
import type { Origin, ResultDetails } from '../records/result.ts'

/** Watches for callbacks about a command in doubt, before it is POSTed again. */
export interface CallbackWatch {
  /** @returns whether every callback that was there at the call has been read, as far as they may be read */
  catchUp(): Promise<boolean>
  /** Tells whether `catchUp` was true shortly before, and what has come since is being read. */
  isCaughtUp(): boolean
  /** Queues the command again when that is so. */
  requeueWhenCaughtUp(): void
}

/**
 * Refusal is what is known of a command whose envelopes the gateway refused as a whole, with a text that nobody knows.
 */
export interface Refusal {
  /** Monotonic milliseconds: of the last one. */
  at: number
  /** How often the command was refused alone, counted once as long as no other command of the account passed. */
  counted: number
  /** The same, but every refusal since the last one that counted is one, too: for the back-off. */
  tries: number
  error: string
}

/**
 * A valid command on its way, from its partition's session to its result: what its record says, the record where it first
 * stood, and what became of it so far.
 */
export interface Pending extends Origin {
  command: Command
  /** The session it is settled on: of its own partition, or of the doubts that it was moved to. */
  session: Session
  /** The command's offset on the partition of `session`. */
  offset: number
  /** Bytes of memory that its session counts for it. */
  heldBytes: number
  /** Milliseconds since 1970 from which its age counts: when its record was appended, as far as that can be told. */
  since: number
  /** Monotonic milliseconds: when it was ready to be packed, or is going to be. */
  readyAt: number
  /** Monotonic milliseconds: since when it waits for others in its envelope, be it at its broker. */
  lingersSince: number
  /** How often it was throttled by itself. Missing: never. */
  throttled?: number
  /** POSTs that left it in doubt. One that was refused as a whole, or throttled, sent nothing and is none. */
  attempts: number
  /** Whether one of them may have been executed: what a later one comes to says nothing about that. */
  doubted: boolean
  /** No POST of it can have begun before, by busgate's own clocks, milliseconds since 1970. Missing: none has, or unknown. */
  postedSince?: number
  /** Why it cannot be sent again: what it was is not known any more, and `command` holds what is. */
  unreadable?: string
  /** Missing: it was not POSTed before, or no callback can tell. */
  callbackWatch?: CallbackWatch
  /** It is in an envelope, so that the delivery says what becomes of it. */
  packed: boolean
  /** The command's final result, by a callback that came while it was packed. */
  proof?: ResultDetails
  /** Settled: nothing is to be done with it any more. */
  over: boolean
  /** Called when it is settled. */
  onOver?: () => void
  /** Missing: none of its envelopes was refused for a reason that nobody knows. */
  refusal?: Refusal
}

/** Ends the work on a command whose outcome is written, or that is forgotten here and read again. */
export function end(pending: Pending): void {
  pending.over = true
  pending.onOver?.()
}

/** Tells whether any of the commands is paused. */
export function hasPaused(pendings: readonly Pending[], controls: Controls): boolean {
  controls.update()
  return controls.hasPauses && pendings.some(({ command, topic }) => controls.stopping(command, topic) !== null)
}

/** Why a command may not be sent any more. */
export interface Expiry {
  errorCode: 'DEADLINE' | 'MAX_AGE' | 'WITHDRAWN'
  /** Who withdrew it, and why. */
  error?: string
}

const deadline: Expiry = { errorCode: 'DEADLINE' }
const maxAge: Expiry = { errorCode: 'MAX_AGE' }

export interface ExpiryRules {
  maxAgeMs: number
  controls: Controls
}

/** The last instant at which a command may be sent, milliseconds since 1970. */
export function expiresAt({ command, since }: Pending, maxAgeMs: number): number {
  return Math.min(command.deadline ?? Number.POSITIVE_INFINITY, since + maxAgeMs)
}

/** Tells why a command may not be sent any more, if so. */
export function expiry({ command, since }: Pending, now: number, { maxAgeMs, controls }: ExpiryRules): Expiry | null {
  if (command.deadline !== null && now > command.deadline) return deadline
  if (now > since + maxAgeMs) return maxAge
  const withdrawal = controls.withdrawing(command, since)
  return withdrawal && { errorCode: 'WITHDRAWN', error: withdrawalText(withdrawal) }
}

/**
 * A command that was refused alone with a text that nobody knows is a suspect: it is retried alone, with a back-off, and
 * so many refusals convict it. Where a share p of all requests is refused whatever is in them, p^6 of the commands are
 * wrongly blamed.
 */
const refusalsToReject = 6
const firstRetryMs = 250
const longestRetryMs = 30_000

export const isSuspect = ({ refusal }: Pending): boolean => refusal !== undefined && refusal.tries > 0

/** Tells whether another command of the account has begun and passed since the command was refused. */
export const isOvertaken = ({ at }: Refusal, { passedAt }: Account): boolean => passedAt > at

/**
 * Notes a refusal with a text that nobody knows, and when a command that was refused alone is retried.
 * @param counts whether it is a further one: another command passed since the one before
 * @returns whether the envelope's only command is to blame for it
 */
export function noteRefusal(pendings: readonly Pending[], error: string, counts: boolean, now: number): boolean {
  const isAlone = pendings.length === 1
  for (const pending of pendings) {
    const { counted = 0, tries = 0 } = pending.refusal ?? {}
    pending.refusal = { at: now, counted, tries, error }
    if (!isAlone) continue
    const further = counts || tries === 0 ? 1 : 0
    pending.refusal.counted += further
    pending.refusal.tries = further ? pending.refusal.counted : tries + 1
    pending.readyAt = now + Math.min(longestRetryMs, firstRetryMs * 2 ** (pending.refusal.tries - 1))
  }
  return isAlone && pendings[0]!.refusal!.counted >= refusalsToReject
}
