import type { Account } from '../../accounts/account.ts'
import type { Pending, Refusal } from '../pending.ts'

/**
 * This many refusals alone convict a command. Where a share p of all requests is refused whatever is in them, one of p^6 of
 * the commands is wrongly blamed; five more requests for a bad one are about what it costs to find it in its envelope.
 */
export const refusalsToReject = 6
/** Before the second one; the others follow after twice as long each time. */
const firstRetryMs = 250

export const isSuspect = ({ refusal }: Pending): boolean => refusal !== undefined && refusal.alone > 0

/** Tells when a suspect goes out again alone, should another command have passed: monotonic milliseconds. */
export const retryAt = ({ at, alone }: Refusal): number => at + firstRetryMs * 2 ** (alone - 1)

/** Tells whether another command of the account has begun and passed since the command was refused. */
export const isOvertaken = ({ at }: Refusal, { passedAt }: Account): boolean => passedAt > at

/**
 * Notes a refusal with a text that nobody knows.
 * @param counts whether it would be a further one: another command passed since the one before
 * @returns whether the envelope's only command is to blame for it
 */
export function noteRefusal(pendings: readonly Pending[], error: string, counts: boolean, now: number): boolean {
  const isAlone = pendings.length === 1
  for (const pending of pendings) {
    const before = pending.refusal?.alone ?? 0
    const further = isAlone && (counts || before === 0) ? 1 : 0
    pending.refusal = { at: now, alone: before + further, error }
  }
  return isAlone && pendings[0]!.refusal!.alone >= refusalsToReject
}
