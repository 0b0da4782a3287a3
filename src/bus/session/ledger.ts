import type { OutgoingRecord } from '../port.ts'

/** What came of a POST: the records to publish, or `released`: known not to have been sent. */
export type Outcome = readonly OutgoingRecord[] | 'released'

/**
 * The POSTs this process has made for one partition and what came of them. It outlives sessions: when a commit's fate is
 * unclear the session is opened anew, and what was in flight meanwhile is not in doubt, because its outcome is here.
 * An entry leaves only after its outcome is committed, or when another process has taken the partition over.
 */
export class Ledger {
  /** undefined: in flight. */
  readonly #outcomes = new Map<number, Outcome | undefined>()
  #listener: ((offset: number) => void) | null = null

  /** Called once an outcome arrives, with its offset: the session that is open now. */
  listen(listener: ((offset: number) => void) | null): void {
    this.#listener = listener
  }

  /** The intent is committed and its POST may begin. */
  start(offset: number): void {
    this.#outcomes.set(offset, undefined)
  }

  has(offset: number): boolean {
    return this.#outcomes.has(offset)
  }

  outcome(offset: number): Outcome | undefined {
    return this.#outcomes.get(offset)
  }

  /** Whether the offset was one of ours; then the session that is open now has been told. */
  finish(offset: number, outcome: Outcome): boolean {
    if (!this.#outcomes.has(offset)) return false
    this.#outcomes.set(offset, outcome)
    this.#listener?.(offset)
    return true
  }

  remove(offset: number): void {
    this.#outcomes.delete(offset)
  }

  clear(): void {
    this.#outcomes.clear()
  }

  get size(): number {
    return this.#outcomes.size
  }

  /** Offsets whose POST is in flight or whose outcome is not committed. */
  offsets(): Iterable<number> {
    return this.#outcomes.keys()
  }
}
