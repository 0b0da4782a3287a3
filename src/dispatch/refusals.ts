import type { Envelope } from './delivery.ts'
import type { Pending } from './pending.ts'

/** What is known of a command whose envelopes the gateway refused as a whole, with a text that nobody knows. */
export interface Refusal {
  /** Monotonic milliseconds: of the first refusal, or of the last one that met the command alone. */
  at: number
  /** Whether the gateway answers the account since then, as far as a question can tell. */
  vouched: boolean
  /** How often the command was refused although it did. */
  rounds: number
}

/** After so many rounds a command that no other can clear is the one to blame. */
const mostRounds = 3

/**
 * What speaks against an envelope's only command, should it be refused: other commands of the account have passed since
 * it was refused before, or at least a question was answered. A probe proves nothing: what passed did so before the pause.
 */
export type Suspicion = 'others passed' | 'vouched' | null

export function suspicionOf({ pendings, account, leave }: Envelope): Suspicion {
  const refusal = pendings[0]?.refusal
  if (!refusal || pendings.length > 1 || leave.probe) return null
  if (account.passedAt > refusal.at) return 'others passed'
  return refusal.vouched ? 'vouched' : null
}

/** Notes a refusal with a text that nobody knows. @returns whether the envelope's only command is to blame for it */
export function noteRefusal(pendings: readonly Pending[], suspicion: Suspicion, now: number): boolean {
  for (const pending of pendings) pending.refusal ??= { at: now, vouched: false, rounds: 0 }
  const [first, ...others] = pendings
  if (!first?.refusal || others.length > 0) return false
  const rounds = first.refusal.rounds + (suspicion === 'vouched' ? 1 : 0)
  first.refusal = { at: now, vouched: false, rounds }
  return suspicion === 'others passed' || rounds >= mostRounds
}
