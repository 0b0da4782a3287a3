import type { OutgoingRecord } from '../port.ts'

/** Key of an entry: the record's offset, or a number of its own once the log has lost the record. */
export type LedgerKey = number

/** Whether the log has lost the record, so that another one may take its offset. */
export const isOrphan = (key: LedgerKey): boolean => key < 0

/** Outcome of a POST: the records to publish, or `released` if it is known not to have been sent. */
export type Outcome = readonly OutgoingRecord[] | 'released'

interface Post {
  /** Offset of the record when the POST began. */
  offset: number
  /** The session that began the POST; only this session may report the outcome. */
  session: object
  /** Earliest time at which the POST can have begun, milliseconds since 1970. */
  since: number
  /** undefined while in flight. */
  outcome: Outcome | undefined
  /** Sequence number of the last commit that should publish the outcome; set only if the log lost the record. */
  carriedIn: number | null
  /** Sequence number of the first commit that records the loss of the record. */
  lostIn: number | null
}

/**
 * The POSTs of this process for one partition, with their outcomes. The ledger outlives sessions: when the fate of a commit
 * is unknown, the session is reopened, and a POST that was in flight meanwhile is not in doubt, because its outcome arrives
 * here. An entry is removed after its outcome is committed, or when another process has taken the partition over.
 */
export class Ledger {
  readonly #posts = new Map<LedgerKey, Post>()
  #orphans = 0
  #listener: ((key: LedgerKey) => void) | null = null

  /** Sets the current session's listener; called with the entry's key when an outcome arrives. */
  listen(listener: ((key: LedgerKey) => void) | null): void {
    this.#listener = listener
  }

  /** Adds a POST whose intent is committed. */
  start(offset: number, session: object, since: number): void {
    this.#posts.set(offset, { offset, session, since, outcome: undefined, carriedIn: null, lostIn: null })
  }

  /**
   * Gives the entry of a lost record a key of its own, since another record may take its offset. The outcome will still be
   * published.
   */
  orphan(offset: number): void {
    const post = this.#posts.get(offset)
    if (!post) return
    this.#posts.delete(offset)
    this.#posts.set(--this.#orphans, post)
  }

  /** The commit with this sequence number publishes the outcome of a lost record; the checkpoint has no offset for it. */
  carry(key: LedgerKey, seq: number): void {
    const post = isOrphan(key) && this.#posts.get(key)
    if (post) post.carriedIn = seq
  }

  /** The commit with this sequence number records the losses so far. */
  recordLosses(seq: number): void {
    for (const [key, post] of this.#posts) if (isOrphan(key)) post.lostIn ??= seq
  }

  /** The commit with this sequence number has taken effect, even if its caller got an error. */
  landed(seq: number): void {
    for (const [key, { carriedIn }] of this.#posts) if (carriedIn !== null && carriedIn <= seq) this.remove(key)
  }

  /** Earliest time at which one of the POSTs can have begun; `now` if there are none. */
  oldest(now: number): number {
    let oldest = now
    for (const { since } of this.#posts.values()) oldest = Math.min(oldest, since)
    return oldest
  }

  has(offset: number): boolean {
    return this.#posts.has(offset)
  }

  /**
   * Whether an offset's intent in the checkpoint with this sequence number is that of a record which the log has lost since. The
   * outcome of its POST will still be published. A later checkpoint may have an intent of the next record with that offset.
   */
  hasLost(offset: number, seq: number): boolean {
    const isOf = (key: LedgerKey, post: Post) => isOrphan(key) && post.offset === offset
    return [...this.#posts].some(([key, post]) => isOf(key, post) && (post.lostIn === null || post.lostIn > seq))
  }

  /** Whether the log has lost records of POSTs whose outcomes are not committed yet. */
  get hasOrphans(): boolean {
    return this.keys().some(isOrphan)
  }

  outcome(key: LedgerKey): Outcome | undefined {
    return this.#posts.get(key)?.outcome
  }

  /** Reports an outcome to the current session. @returns false if the session had no POST for the offset */
  finish(offset: number, session: object, outcome: Outcome): boolean {
    const key = this.#keyOf(offset, session)
    if (key === undefined) return false
    this.#posts.get(key)!.outcome = outcome
    this.#listener?.(key)
    return true
  }

  #keyOf(offset: number, session: object): LedgerKey | undefined {
    if (this.#posts.get(offset)?.session === session) return offset
    if (this.#orphans === 0) return undefined
    return [...this.#posts].find(
      ([key, post]) => isOrphan(key) && post.offset === offset && post.session === session,
    )?.[0]
  }

  remove(key: LedgerKey): void {
    this.#posts.delete(key)
  }

  clear(): void {
    this.#posts.clear()
  }

  get size(): number {
    return this.#posts.size
  }

  /** Keys of the POSTs that are in flight or whose outcome is not committed. */
  keys(): LedgerKey[] {
    return [...this.#posts.keys()]
  }
}
