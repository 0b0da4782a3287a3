import type { LaterFacts, LaterKey } from '../../records/later.ts'
import { hashOf, hashOfWords } from './hashes.ts'

/** A waiting command, by its number in `Rows`. */
export type Row = number

/**
 * waiting: on the table, not due or not released yet. released: its copy is on the command's partition. over: finished, but
 * still in a queue.
 */
export const WAITING = 0
export const RELEASED = 1
export const OVER = 2
type State = typeof WAITING | typeof RELEASED | typeof OVER

/** So large that the system gives the memory of each chunk apart, page by page as it is used: smaller ones would lie scattered. */
const chunkBits = 16
const chunkRows = 1 << chunkBits
/** Wider columns before narrower ones, so that all are aligned. Six bytes are enough for an offset of any log. */
const rowBytes = 8 + 9 * 4 + 2 * 2 + 1

/** A column of offsets. */
class Offsets {
  readonly #low: Uint32Array
  readonly #high: Uint16Array

  constructor(memory: ArrayBuffer, lowAt: number, highAt: number) {
    this.#low = new Uint32Array(memory, lowAt, chunkRows)
    this.#high = new Uint16Array(memory, highAt, chunkRows)
  }

  get(i: number): number {
    return this.#high[i]! * 2 ** 32 + this.#low[i]!
  }

  set(i: number, offset: number): void {
    this.#high[i] = offset / 2 ** 32
    this.#low[i] = offset
  }
}

class Chunk {
  /** Offset on the table. */
  readonly offset: Offsets
  /** Offset of the command's own record. */
  readonly place: Offsets
  readonly id: BigUint64Array
  /** The same, two for each: unlike bigints, numbers need no memory of their own. */
  readonly idWords: Uint32Array
  readonly account: Uint32Array
  readonly campaign: Uint32Array
  readonly tenant: Uint32Array
  readonly correlation: Uint32Array
  /** Seconds since 1970, rounded up: no command is due early. */
  readonly due: Uint32Array
  readonly expires: Uint32Array
  /** Seconds since 1970, rounded down. */
  readonly since: Uint32Array
  readonly state: Uint8Array

  constructor() {
    const memory = new ArrayBuffer(chunkRows * rowBytes)
    let at = 0
    const next = (bytes: number) => {
      const from = at
      at += bytes * chunkRows
      return from
    }
    this.id = new BigUint64Array(memory, next(8), chunkRows)
    this.idWords = new Uint32Array(this.id.buffer, this.id.byteOffset, 2 * chunkRows)
    this.account = new Uint32Array(memory, next(4), chunkRows)
    this.campaign = new Uint32Array(memory, next(4), chunkRows)
    this.tenant = new Uint32Array(memory, next(4), chunkRows)
    this.correlation = new Uint32Array(memory, next(4), chunkRows)
    this.due = new Uint32Array(memory, next(4), chunkRows)
    this.expires = new Uint32Array(memory, next(4), chunkRows)
    this.since = new Uint32Array(memory, next(4), chunkRows)
    const [offsetAt, placeAt] = [next(4), next(4)]
    this.offset = new Offsets(memory, offsetAt, next(2))
    this.place = new Offsets(memory, placeAt, next(2))
    this.state = new Uint8Array(memory, next(1), chunkRows)
  }
}

const latestSecond = 2 ** 32 - 1

const secondsOf = (ms: number, round = Math.ceil) => Math.min(latestSecond, Math.max(0, round(ms / 1000)))

/** The names of a command by which it is paused or withdrawn, as hashes. */
export type NameColumn = 'account' | 'campaign' | 'tenant' | 'correlation'

/**
 * The waiting commands of all partitions of a process in 49 bytes each: typed arrays in chunks, which grow without copying.
 * Everything else of a command stays on the table.
 */
export class Rows {
  /** The known accounts, by the hashes of their names. */
  readonly #accounts: ReadonlyMap<number, string>
  readonly #chunks: Chunk[] = []
  /** Rows that were given back. */
  readonly #free: Row[] = []
  #used = 0

  /** @param accounts the names of those that this process knows */
  constructor(accounts: Iterable<string> = []) {
    this.#accounts = new Map(Array.from(accounts, name => [hashOf(name), name]))
  }

  /** Names an account's group. All that are not known share one: the table can name any number of them. */
  crowd(row: Row): number {
    const account = this.name(row, 'account')
    return this.#accounts.has(account) ? account : 0
  }

  /** The name of its account, if this process knows it. */
  account(row: Row): string | undefined {
    return this.#accounts.get(this.name(row, 'account'))
  }

  /** Number of rows in use. */
  get size(): number {
    return this.#used - this.#free.length
  }

  /** @param offset on the table */
  take({ offset: place, id }: LaterKey, facts: LaterFacts, offset: number): Row {
    const row = this.#free.pop() ?? this.#used++
    if (row >> chunkBits === this.#chunks.length) this.#chunks.push(new Chunk())
    const chunk = this.#chunk(row)
    const i = row & (chunkRows - 1)
    chunk.due[i] = secondsOf(facts.notBefore ?? facts.since)
    chunk.offset.set(i, offset)
    chunk.place.set(i, place)
    chunk.id[i] = id
    chunk.account[i] = hashOf(facts.account)
    chunk.campaign[i] = hashOf(facts.campaign)
    chunk.tenant[i] = hashOf(facts.tenant)
    chunk.correlation[i] = hashOf(facts.correlationId)
    chunk.expires[i] = secondsOf(facts.expiresAt)
    chunk.since[i] = secondsOf(facts.since, Math.floor)
    chunk.state[i] = WAITING
    return row
  }

  giveBack(row: Row): void {
    this.#free.push(row)
  }

  /** When it is due, milliseconds since 1970: a whole second. */
  due(row: Row): number {
    return this.#chunk(row).due[row & (chunkRows - 1)]! * 1000
  }

  offset(row: Row): number {
    return this.#chunk(row).offset.get(row & (chunkRows - 1))
  }

  setOffset(row: Row, offset: number): void {
    this.#chunk(row).offset.set(row & (chunkRows - 1), offset)
  }

  place(row: Row): number {
    return this.#chunk(row).place.get(row & (chunkRows - 1))
  }

  id(row: Row): bigint {
    return this.#chunk(row).id[row & (chunkRows - 1)]!
  }

  /** The hash of its id with a number. */
  hashOfId(row: Row, number: number): number {
    const { idWords } = this.#chunk(row)
    const at = 2 * (row & (chunkRows - 1))
    return hashOfWords(idWords[at]!, idWords[at + 1]!, number)
  }

  name(row: Row, column: NameColumn): number {
    return this.#chunk(row)[column][row & (chunkRows - 1)]!
  }

  /** When the command expires, by the worker that let it wait; milliseconds since 1970. */
  expiresAt(row: Row): number {
    return this.#chunk(row).expires[row & (chunkRows - 1)]! * 1000
  }

  /** When the command's record was appended, or up to a second earlier; milliseconds since 1970. */
  since(row: Row): number {
    return this.#chunk(row).since[row & (chunkRows - 1)]! * 1000
  }

  state(row: Row): State {
    return this.#chunk(row).state[row & (chunkRows - 1)] as State
  }

  setState(row: Row, state: State): void {
    this.#chunk(row).state[row & (chunkRows - 1)] = state
  }

  #chunk(row: Row): Chunk {
    return this.#chunks[row >> chunkBits]!
  }
}
