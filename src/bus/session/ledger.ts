import type { OutgoingRecord } from '../port.ts'

/** What came of a POST: the records to publish, or `released`: known not to have been sent. */
export type Outcome = readonly OutgoingRecord[] | 'released'

interface Post {
  /** The session that began it: no other one can say what came of it. */
  session: object
  /** undefined: in flight. */
  outcome: Outcome | undefined
}

/**
 * The POSTs this process has made for one partition and what came of them. It outlives sessions: when a commit's fate is
 * unclear the session is opened anew, and what was in flight meanwhile is not in doubt, because its outcome is here.
 * An entry leaves only after its outcome is committed, or when another process has taken the partition over.
 */
export class Ledger {
  readonly #posts = new Map<number, Post>()
  #listener: ((offset: number) => void) | null = null

  /** Called once an outcome arrives, with its offset: the session that is open now. */
  listen(listener: ((offset: number) => void) | null): void {
    this.#listener = listener
  }

  /** The intent is committed and its POST may begin. */
  start(offset: number, session: object): void {
    this.#posts.set(offset, { session, outcome: undefined })
  }

  has(offset: number): boolean {
    return this.#posts.has(offset)
  }

  outcome(offset: number): Outcome | undefined {
    return this.#posts.get(offset)?.outcome
  }

  /** Whether the session had begun a POST there; then the session that is open now has been told. */
  finish(offset: number, session: object, outcome: Outcome): boolean {
    const post = this.#posts.get(offset)
    if (post?.session !== session) return false
    post.outcome = outcome
    this.#listener?.(offset)
    return true
  }

  remove(offset: number): void {
    this.#posts.delete(offset)
  }

  clear(): void {
    this.#posts.clear()
  }

  get size(): number {
    return this.#posts.size
  }

  /** Offsets whose POST is in flight or whose outcome is not committed. */
  offsets(): Iterable<number> {
    return this.#posts.keys()
  }
}
