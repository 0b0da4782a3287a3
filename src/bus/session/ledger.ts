import type { OutgoingRecord } from '../port.ts'

/** Outcome is what came of a POST: the records to publish, or `released`: known not to have been sent. */
export type Outcome = readonly OutgoingRecord[] | 'released'

interface Post {
  /** The offset that its record had when it began. */
  offset: number
  /** The session that began it: no other one can say what came of it. */
  session: object
  /** It cannot have begun before, milliseconds since 1970. */
  since: number
  /** undefined: in flight. */
  outcome: Outcome | undefined
  /** The sequence number of the last commit that was to publish it; only where its record is gone. */
  carriedIn: number | null
}

/**
 * The POSTs this process has made for one partition and what came of them. It outlives sessions: when a commit's fate is
 * unclear the session is opened anew, and what was in flight meanwhile is not in doubt, because its outcome is here.
 * An entry leaves only after its outcome is committed, or when another process has taken the partition over.
 * It stands under its record's offset; under a negative number once the record is gone from the log.
 */
export class Ledger {
  readonly #posts = new Map<number, Post>()
  #orphans = 0
  #listener: ((number: number) => void) | null = null

  /** Called once an outcome arrives, with the number it stands under: the session that is open now. */
  listen(listener: ((number: number) => void) | null): void {
    this.#listener = listener
  }

  /** The intent is committed and its POST may begin. */
  start(offset: number, session: object, since: number): void {
    this.#posts.set(offset, { offset, session, since, outcome: undefined, carriedIn: null })
  }

  /** The record is gone, and another one may come at its offset: what the POST comes to is still to be published. */
  orphan(offset: number): void {
    const post = this.#posts.get(offset)
    if (!post) return
    this.#posts.delete(offset)
    this.#posts.set(--this.#orphans, post)
    if (post.outcome !== undefined) this.#listener?.(this.#orphans)
  }

  /** The commit with this sequence number is about to publish what came of it: no offset of the checkpoint will tell. */
  carry(number: number, seq: number): void {
    const post = number < 0 && this.#posts.get(number)
    if (post) post.carriedIn = seq
  }

  /** The commit with this sequence number happened, whatever its caller heard. */
  landed(seq: number): void {
    for (const [number, { carriedIn }] of this.#posts) if (carriedIn !== null && carriedIn <= seq) this.remove(number)
  }

  /** No POST can have begun before; `now`, if there are none. */
  oldest(now: number): number {
    let oldest = now
    for (const { since } of this.#posts.values()) oldest = Math.min(oldest, since)
    return oldest
  }

  has(offset: number): boolean {
    return this.#posts.has(offset)
  }

  outcome(number: number): Outcome | undefined {
    return this.#posts.get(number)?.outcome
  }

  /** Tells whether the session had begun a POST there; then the session that is open now has been told. */
  finish(offset: number, session: object, outcome: Outcome): boolean {
    const number = this.#numberOf(offset, session)
    if (number === undefined) return false
    this.#posts.get(number)!.outcome = outcome
    this.#listener?.(number)
    return true
  }

  #numberOf(offset: number, session: object): number | undefined {
    if (this.#posts.get(offset)?.session === session) return offset
    if (this.#orphans === 0) return undefined
    return [...this.#posts].find(
      ([number, post]) => number < 0 && post.offset === offset && post.session === session,
    )?.[0]
  }

  remove(number: number): void {
    this.#posts.delete(number)
  }

  clear(): void {
    this.#posts.clear()
  }

  get size(): number {
    return this.#posts.size
  }

  /** Numbers of the POSTs that are in flight or whose outcome is not committed. */
  numbers(): number[] {
    return [...this.#posts.keys()]
  }
}
