import type { BusRecord } from '../../bus/port.ts'
import { idIn } from '../../protocol/ids.ts'
import { IdTable, messageKey } from '../../records/id-table.ts'

/** How many of the last ids of a partition are checked for repeats. */
export const repeatWindow = 10_000

/** Added to an offset if the record waits, was sent or perhaps sent in this session. */
const inUse = 0.5
/** Added to the offset of a record that a former session has finished, if it has used the id. */
const wasUsed = 0.25
/** Added to the offset of a record that a former session has finished, if it was not the first one with the id. */
const wasRepeated = 0.125
/** Of an id whose record ended without having used it. */
const notUsed = -1

/** The last record with an id that a former session has finished. */
export interface Finished {
  offset: number
  /** Whether it has used the id; unknown if false. */
  hasUsedId: boolean
  /** Whether no other finished record had the id, as far as known. */
  isOnly: boolean
}

const isFinished = (value: number): boolean => value - Math.floor(value) < inUse

/**
 * The offsets of the last messages of a partition, to detect repeated commands. Remembers at least the last `size` messages and at
 * most twice as many, in two generations, which need no bookkeeping per message.
 */
export class RecentIds {
  readonly #size: number
  #young = newGeneration()
  #old = newGeneration()

  /** @param size number of messages to remember */
  constructor(size: number) {
    this.#size = size
  }

  /**
   * Remembers the id of a record that may be sent, unless another record has it.
   * @returns null if it is no repeat; `in use` if another record of this session has used the id, or waits; else the last record
   *   with this id that a former session has finished: a later one, if this record has waited since
   */
  add(account: string, id: bigint, offset: number): 'in use' | Finished | null {
    const other = this.#otherOf(account, id, offset)
    if (other === null) this.#set(account, id, offset + inUse)
    return other
  }

  /** The offset of another record that has used the id in this session, or waits; null if none does. */
  usedAt(account: string, id: bigint, offset: number): number | null {
    const found = this.#find(account, id)
    return isFinished(found) || found === offset + inUse ? null : Math.floor(found)
  }

  /** Remembers the id of a finished record. */
  addPast(account: string, id: bigint, offset: number): void {
    const found = this.#find(account, id)
    const at = Math.floor(found)
    if (found === notUsed || found === offset + inUse) this.#set(account, id, offset)
    else if (isFinished(found) && at !== offset) this.#set(account, id, Math.max(at, offset) + wasRepeated)
  }

  /** Remembers that a record that a former session has finished has used its id, so that nobody need ask again. */
  noteUse(account: string, id: bigint, offset: number): void {
    const found = this.#find(account, id)
    if (found === offset || found === offset + wasRepeated) this.#set(account, id, found + wasUsed)
  }

  /** Remembers that the record uses the id, because the earlier one did not. */
  take(account: string, id: bigint, offset: number): void {
    this.#set(account, id, offset + inUse)
  }

  /** Forgets the id: its record ended without having used it. */
  free(account: string, id: bigint, offset: number): void {
    if (this.#find(account, id) === offset + inUse) this.#set(account, id, notUsed)
  }

  #find(account: string, id: bigint): number {
    const key = messageKey(account, id)
    return this.#young.get(key) ?? this.#old.get(key) ?? notUsed
  }

  #otherOf(account: string, id: bigint, offset: number): 'in use' | Finished | null {
    const found = this.#find(account, id)
    if (found === notUsed) return null
    const at = Math.floor(found)
    if (at === offset) return null
    if (!isFinished(found)) return 'in use'
    return { offset: at, hasUsedId: found - at >= wasUsed, isOnly: (found - at) % wasUsed === 0 }
  }

  #set(account: string, id: bigint, value: number): void {
    this.#young.set(messageKey(account, id), value)
    if (this.#young.size < this.#size) return
    this.#old = this.#young
    this.#young = newGeneration()
  }
}

const newGeneration = () => new IdTable('with numbers')

interface Unread {
  offset: number
  /** Whether it was perhaps sent, and its end is still to come. */
  isInUse: boolean
}

type Keyed = Pick<BusRecord, 'key' | 'offset'>

/**
 * The last ids of records that cannot be decoded, or not yet, but were finished or perhaps sent. Their keys tell the ids, for
 * any account. No partition is read so far that one in use would be forgotten.
 */
export class UnreadIds {
  readonly #records = new Map<bigint, readonly Unread[]>()

  /** @returns whether its key tells an id */
  add({ key, offset }: Keyed, isInUse: boolean): boolean {
    const id = idOf(key)
    if (id === null) return false
    const others = this.#others(id, offset)
    const kept = others.filter((one, i) => one.isInUse || i >= others.length - 2)
    this.#records.delete(id)
    this.#records.set(id, [...kept, { offset, isInUse }])
    if (this.#records.size > repeatWindow) this.#records.delete(this.#records.keys().next().value!)
    return true
  }

  /** Forgets a record that can be decoded, or was not sent. */
  remove({ key, offset }: Keyed): void {
    const id = this.#records.size === 0 ? null : idOf(key)
    if (id === null || !this.#records.has(id)) return
    const others = this.#others(id, offset)
    if (others.length > 0) this.#records.set(id, others)
    else this.#records.delete(id)
  }

  isInUse(id: bigint): boolean {
    return this.#records.get(id)?.some(({ isInUse }) => isInUse) === true
  }

  /** The last finished record with the id, of these and of the known one. */
  lastWith(id: bigint, known: 'in use' | Finished | null): 'in use' | Finished | null {
    const records = this.#records.get(id)
    if (records === undefined || known === 'in use') return known
    const offsets = records.map(({ offset }) => offset)
    if (known === null) return { offset: Math.max(...offsets), hasUsedId: false, isOnly: offsets.length === 1 }
    return { ...known, offset: Math.max(known.offset, ...offsets), isOnly: false }
  }

  #others(id: bigint, offset: number): readonly Unread[] {
    return (this.#records.get(id) ?? []).filter(record => record.offset !== offset)
  }
}

const idOf = (key: Buffer | null): bigint | null => (key ? idIn(key.toString('latin1')) : null)
