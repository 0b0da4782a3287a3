import { IdTable, messageKey } from '../../records/id-table.ts'

/** How many of the last ids of a partition are checked for repeats. */
export const repeatWindow = 10_000

/** Added to an offset if the record waits, was sent or perhaps sent in this session. */
const inUse = 0.5
/** Added to the offset of a record that a former session has finished, if it has used the id. */
const wasUsed = 0.25
/** Of an id whose record ended without having used it. */
const notUsed = -1

/** The last record with an id that a former session has finished. */
export interface Finished {
  offset: number
  /** Whether it has used the id; unknown if false. */
  hasUsedId: boolean
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
    const isLatest = isFinished(found) && Math.floor(found) < offset
    if (isLatest || found === offset + inUse) this.#set(account, id, offset)
  }

  /** Remembers that a record that a former session has finished has used its id, so that nobody need ask again. */
  noteUse(account: string, id: bigint, offset: number): void {
    if (this.#find(account, id) === offset) this.#set(account, id, offset + wasUsed)
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
    return isFinished(found) ? { offset: at, hasUsedId: found === at + wasUsed } : 'in use'
  }

  #set(account: string, id: bigint, value: number): void {
    this.#young.set(messageKey(account, id), value)
    if (this.#young.size < this.#size) return
    this.#old = this.#young
    this.#young = newGeneration()
  }
}

const newGeneration = () => new IdTable('with numbers')
