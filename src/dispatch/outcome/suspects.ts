import type { Account } from '../../accounts/account.ts'
import type { Pending, Refusal } from '../pending.ts'

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
