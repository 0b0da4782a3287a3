import type { Session } from '../../bus/port.ts'
import { IdTable } from '../../records/id-table.ts'
import type { LaterEntry, LaterFacts, LaterKey } from '../../records/later.ts'
import { DueRows } from './due-rows.ts'
import { hashOf, hashOfId } from './hashes.ts'
import { RowHeap } from './row-heap.ts'
import { RowTable, shards } from './row-table.ts'
import { OVER, RELEASED, type Row, type Rows, WAITING } from './rows.ts'

/** Most rows that one step moves from queue to queue, so that no step takes long. */
const rowsAtOnce = 1_024

/** The commands of one partition that wait: found by id, and in the order in which they are due. */
export class WaitingRows {
  readonly #session: Pick<Session, 'topic' | 'partition' | 'uncheckedUntil'>
  readonly #rows: Rows
  readonly #table: RowTable
  /** The same rows. Strangers may use one id with any number of accounts. */
  readonly #byAccount: RowTable
  /** Not due, the next one first. */
  readonly #upcoming: RowHeap
  /** Due, by account: one that cannot send now, or only slowly, holds back no other. */
  readonly #due = new Map<number, DueRows>()
  /** Whose turn is next. */
  #turn = 0
  /** Due but paused; the next one to expire first. */
  #paused: RowHeap
  /** To be looked at again because pauses have changed. */
  #review: RowHeap
  /** Whether pauses have changed since the review began. */
  #isReviewDue = false
  /** Number of rows that are over, but still in a queue. */
  #over = 0
  #released = 0
  /** What names the copies that are not finished. */
  readonly #copies = new Map<Row, string>()
  #isClosed = false
  /** Ids of finished commands by place: accounts may have the same ids. */
  #ended: IdTable | null = null
  /** The offset after the last record that is known to have been moved to the table, or copied from it. */
  movedUntil = 0

  constructor(session: Pick<Session, 'topic' | 'partition' | 'uncheckedUntil'>, rows: Rows) {
    this.#session = session
    this.#rows = rows
    this.#table = new RowTable(row => rows.hashOfId(row, rows.place(row)))
    this.#byAccount = new RowTable(row => rows.hashOfId(row, rows.name(row, 'account')))
    const byExpiry = () => new RowHeap(inOrderOf(rows, row => rows.expiresAt(row)))
    this.#upcoming = new RowHeap(inOrderOf(rows, row => rows.due(row)))
    this.#paused = byExpiry()
    this.#review = byExpiry()
  }

  /** Number of commands that wait or whose copy is not finished. */
  get size(): number {
    return this.#table.size
  }

  /** Number of copies that are not finished. */
  get released(): number {
    return this.#released
  }

  /** Whether one that is due may be released while there may be so many copies. */
  mayTake(mostReleased: number): boolean {
    return [...this.#due.values()].some(due => due.size > 0 && this.#roomOf(due, mostReleased) > 0)
  }

  /** Copies that an account may have besides its own: never more than are free, so that each of the others can have some. */
  #roomOf(due: DueRows, mostReleased: number): number {
    return mostReleased - this.#released - due.released
  }

  #dueOf(row: Row): DueRows {
    const crowd = this.#rows.crowd(row)
    const due = this.#due.get(crowd) ?? new DueRows(this.#rows)
    this.#due.set(crowd, due)
    return due
  }

  /** Applies a record of the table that was read before the partition was opened. */
  load(entry: LaterEntry, offset: number): void {
    const { key, state, facts } = entry
    const known = key.offset < this.movedUntil ? this.find(key) : -1 // all rows have lower places
    if (facts) this.movedUntil = Math.max(this.movedUntil, key.offset + 1, (facts.copyAt ?? -1) + 1)
    if (known >= 0) this.#remove(known)
    if (state === 'over') return
    if (state !== 'released') {
      this.#take(key, facts, offset)
      return
    }
    const row = this.#rows.take(key, facts, offset)
    this.#insert(row)
    this.#countReleased(row)
    if (facts.copy) this.#copies.set(row, facts.copy)
  }

  /**
   * Some records of the table before this offset cannot be read. What was due by then, or only paused, may have been released in
   * one of them: it counts as released, with a copy whose name nobody knows.
   */
  doubt(before: number, dueBy: number): void {
    const rows = this.#rows
    const isDoubtful = (row: Row) => rows.offset(row) < before && rows.due(row) <= dueBy
    for (const doubtful of this.matching(isDoubtful)) for (const row of doubtful) this.#countReleased(row)
    this.#upcoming.keep(row => !this.isReleased(row))
  }

  /** Rows whose copy is not finished. */
  get releasedRows(): Row[] {
    if (this.#released === 0) return []
    const rows: Row[] = []
    for (let shard = 0; shard < shards; shard++)
      this.#table.each(shard, row => void (this.#rows.state(row) === RELEASED && rows.push(row)))
    return rows.sort((one, other) => this.#rows.place(one) - this.#rows.place(other))
  }

  /** Adds a command that begins to wait. @param offset on the table */
  add(key: LaterKey, facts: LaterFacts, offset: number): Row {
    this.movedUntil = Math.max(this.movedUntil, key.offset + 1)
    return this.#take(key, facts, offset)
  }

  #take(key: LaterKey, facts: LaterFacts, offset: number): Row {
    const row = this.#rows.take(key, facts, offset)
    this.#insert(row)
    this.#upcoming.push(row)
    return row
  }

  #insert(row: Row): void {
    this.#table.add(row)
    this.#byAccount.add(row)
  }

  /** The row of a key; -1 if it does not wait. */
  find({ id, offset }: Pick<LaterKey, 'id' | 'offset'>): Row {
    const isMeant = (row: Row) => this.#rows.place(row) === offset && this.#rows.id(row) === id
    return this.#table.find(hashOfId(id, offset), isMeant)
  }

  /** Whether the key's copy is on the partition and not finished. */
  isReleased(row: Row): boolean {
    return this.#rows.state(row) === RELEASED
  }

  /** Whether it was, or may have been, released with the copy of this name. */
  isReleasedAs(row: Row, copy: string | undefined): boolean {
    return this.isReleased(row) && copy !== undefined && (this.#copies.get(row) ?? copy) === copy
  }

  /**
   * Whether a command with this id waits.
   * @param before only of records before this offset; default: of any
   */
  hasId(account: string, id: bigint, before = Number.POSITIVE_INFINITY): boolean {
    if (this.#table.size === 0) return false
    const hash = hashOf(account)
    const isOwn = (row: Row) =>
      this.#rows.id(row) === id && this.#rows.name(row, 'account') === hash && this.#rows.place(row) < before
    return this.#byAccount.find(hashOfId(id, hash), isOwn) >= 0
  }

  keyOf(row: Row): LaterKey {
    const { topic, partition } = this.#session
    return { topic, partition, offset: this.#rows.place(row), id: this.#rows.id(row) }
  }

  /** When the next command is due or expires, milliseconds since 1970; Infinity if none does. */
  get nextAt(): number {
    if (this.#review.size > 0) return 0
    const [next, paused] = [this.#upcoming.first, this.#paused.first]
    return Math.min(
      next === undefined ? Number.POSITIVE_INFINITY : this.#rows.due(next),
      paused === undefined ? Number.POSITIVE_INFINITY : this.#rows.expiresAt(paused),
    )
  }

  /**
   * Finds out which commands are due, as many as one step may. A paused one is due when it expires.
   * @returns whether there are more; `nextAt` tells when to look again
   */
  sort(now: number, isPaused: (row: Row) => boolean): boolean {
    const sortOne = (row: Row) => {
      if (this.#isOver(row)) return
      if (isPaused(row) && this.#rows.expiresAt(row) > now) this.#paused.push(row)
      else this.putBack(row)
    }
    let left = rowsAtOnce
    for (; left > 0 && this.#upcoming.size > 0 && this.#rows.due(this.#upcoming.first!) <= now; left--)
      sortOne(this.#upcoming.pop()!)
    for (; left > 0 && this.#paused.size > 0 && this.#rows.expiresAt(this.#paused.first!) <= now; left--)
      sortOne(this.#paused.pop()!)
    for (let i = 0; i < rowsAtOnce && this.#review.size > 0; i++) sortOne(this.#review.pop()!)
    if (this.#isReviewDue && this.#review.size === 0) this.review()
    return left === 0
  }

  /** Pauses have changed. */
  review(): void {
    if (this.#review.size > 0) {
      this.#isReviewDue = true
      return
    }
    ;[this.#review, this.#paused] = [this.#paused, this.#review]
    this.#isReviewDue = false
  }

  /**
   * Takes due commands that are not paused, in the order of their offsets on the table.
   * @param mostReleased copies that there may be
   */
  takeDue(most: number, now: number, isPaused: (row: Row) => boolean, mostReleased = Number.POSITIVE_INFINITY): Row[] {
    const taken: Row[] = []
    let looked = 0
    const takeOf = (due: DueRows) => {
      let room = Math.min(most, this.#roomOf(due, mostReleased)) - taken.length
      for (; room > 0 && due.size > 0 && looked < rowsAtOnce; looked++) {
        const row = due.pop()
        if (this.#isOver(row)) continue
        if (isPaused(row) && this.#rows.expiresAt(row) > now) {
          this.#paused.push(row)
          continue
        }
        taken.push(row)
        room--
      }
    }
    const all = [...this.#due.values()]
    for (let i = 0; i < all.length; i++) takeOf(all[(this.#turn + i) % all.length]!)
    this.#turn++
    return taken.sort((one, other) => this.#rows.offset(one) - this.#rows.offset(other))
  }

  /** Returns a command that is due but was not released. */
  putBack(row: Row): void {
    if (this.#isClosed || this.#isOver(row)) return
    this.#dueOf(row).put(row)
  }

  /** The command was taken from the due ones, and its copy is committed next. */
  release(row: Row, copy: string): void {
    if (this.#isClosed) return
    this.#copies.set(row, copy)
    this.#countReleased(row)
  }

  #countReleased(row: Row): void {
    this.#rows.setState(row, RELEASED)
    this.#released++
    this.#dueOf(row).released++
  }

  /** The command does not wait any more. A queue may still have its row, or who took it, and returns it. */
  finish(row: Row): void {
    if (this.#isClosed) return
    this.#noteEnd(row)
    this.#remove(row)
  }

  #remove(row: Row): void {
    this.#table.remove(row)
    this.#byAccount.remove(row)
    if (this.#rows.state(row) === RELEASED) {
      this.#released--
      this.#dueOf(row).released--
      this.#copies.delete(row)
      this.#rows.giveBack(row)
      return
    }
    this.#rows.setState(row, OVER)
    this.#over++
    if (this.#over > rowsAtOnce && this.#over > this.size) this.#sweep()
  }

  /**
   * Whether this session has finished the command. Known only while its record, or copies of it, may be read again because the
   * progress was reset.
   */
  hasEnded({ id, offset }: Pick<LaterKey, 'id' | 'offset'>): boolean {
    return this.#ended !== null && this.#ended.get(endedAt(offset)) === shortId(id)
  }

  #noteEnd(row: Row): void {
    const [id, place] = [this.#rows.id(row), this.#rows.place(row)]
    if (this.#session.uncheckedUntil === 0) this.#ended = null
    else if (place < this.#session.uncheckedUntil) {
      this.#ended ??= new IdTable('with numbers')
      this.#ended.set(endedAt(place), shortId(id))
    }
  }

  /** Whether a row that was taken still waits. */
  isWaiting(row: Row): boolean {
    return this.#rows.state(row) === WAITING
  }

  /**
   * The lowest offset on the table that the next owner must read: the least of these steps, one after the other, and of what is
   * written meanwhile.
   */
  *lowSteps(): Generator<number> {
    for (let shard = 0; shard < shards; shard++) {
      let low = Number.POSITIVE_INFINITY
      this.#table.each(shard, row => {
        low = Math.min(low, this.#rows.offset(row))
      })
      yield low
    }
  }

  /** The waiting rows that are meant, in steps. A row that comes meanwhile may be missing. */
  *matching(isMeant: (row: Row) => boolean): Generator<Row[]> {
    for (let shard = 0; shard < shards; shard++) {
      const found: Row[] = []
      this.#table.each(shard, row => {
        if (this.#rows.state(row) === WAITING && isMeant(row)) found.push(row)
      })
      yield found
    }
  }

  accountOf(row: Row): string | undefined {
    return this.#rows.account(row)
  }

  offsetOf(row: Row): number {
    return this.#rows.offset(row)
  }

  /** The released mark of a key is at this offset. */
  moved(key: LaterKey, offset: number): void {
    if (this.#isClosed) return
    const row = this.find(key)
    if (row >= 0 && this.isReleased(row)) this.#rows.setOffset(row, offset)
  }

  /** Gives back all rows. From then on others may have them, so that nothing may touch them from here. */
  clear(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const queue of this.#queues) {
      for (const row of queue) if (this.#rows.state(row) === OVER) this.#rows.giveBack(row)
    }
    for (let shard = 0; shard < shards; shard++) this.#table.each(shard, row => this.#rows.giveBack(row))
  }

  /** Gives a finished row back once it has left its queue. */
  #isOver(row: Row): boolean {
    if (this.#rows.state(row) !== OVER) return false
    this.#over--
    this.#rows.giveBack(row)
    return true
  }

  #sweep(): void {
    for (const queue of this.#queues) queue.keep(row => !this.#isOver(row))
  }

  get #queues(): RowHeap[] {
    return [this.#upcoming, this.#paused, this.#review, ...[...this.#due.values()].flatMap(({ queues }) => queues)]
  }
}

/** IdTable knows no 0. */
const endedAt = (place: number): bigint => BigInt(place) + 1n

/** The part of an id that a number holds. */
const shortId = (id: bigint): number => Number(BigInt.asUintN(52, id))

/** By time, then by place: the same in every process. */
const inOrderOf = (rows: Rows, timeOf: (row: Row) => number) => (one: Row, other: Row) => {
  const [time, otherTime] = [timeOf(one), timeOf(other)]
  return time < otherTime || (time === otherTime && rows.place(one) < rows.place(other))
}
