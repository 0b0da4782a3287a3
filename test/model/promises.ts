import { DONE, IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import { NONE, OPEN, type Process, type World } from './world.ts'

/** Each of these must never be. The first five are promised to users; on the others the design relies. */
export const promises = {
  twice: 'a command is POSTed twice',
  answered: 'a command is POSTed that has a final result or a doubt',
  late: 'a POST begins after another process began to take the partition over',
  results: 'a command has two final results',
  lost: 'the checkpoint passes a command that has no result',
  unseen: 'a commit lands on a checkpoint that its writer has not seen',
  forgotten: 'the checkpoint holds a command for new that was POSTed',
  stuck: 'an intent waits for nothing: its command will never have a result',
  stale: 'the ledger holds what its session does not wait for',
} as const
export type Broken = keyof typeof promises

export function brokenByPost({ broker, offsets }: World, process: Process, offset: number): Broken | null {
  const { posted, results } = offsets[offset]!
  if (posted) return 'twice'
  if (results) return 'answered'
  return broker.writer === process.id + 1 ? null : 'late'
}

/** Looks at a checkpoint that was just stored. @param before seq of the one that it took the place of */
export function brokenByCommit({ broker, offsets }: World, before: number, afterLoss: boolean): Broken | null {
  if (offsets.some(({ results }) => results > 1)) return 'results'
  if (offsets.some(({ stored, results }) => stored === DONE && results === 0)) return 'lost'
  if (!afterLoss && broker.seq !== before + 1) return 'unseen'
  return offsets.some(({ stored, posted }) => stored === NEW && posted) ? 'forgotten' : null
}

/** Looks at what an open session knows. */
export function brokenBySession({ session, cells }: Process): Broken | null {
  if (session !== OPEN) return null
  for (const { state, ledger, kind } of cells) {
    if (state === INTENT && ledger === NONE && kind === NONE) return 'stuck'
    if (ledger !== NONE && (state === NEW || state === IN_DOUBT || (state === DONE && kind === NONE))) return 'stale'
  }
  return null
}
