import { hash } from 'node:crypto'
import { type Change, keyOf } from './change.ts'

/**
 * Most pauses and withdrawals that a process keeps, and the most memory for them. Honest writers stay below: they refuse more
 * than 10,000 withdrawals, and names and texts that are too long.
 */
export const mostInForce = 100_000
export const mostBytesInForce = 64 * 1024 * 1024
/** Memory of a change besides its texts. */
const changeBytes = 300
/** A name is in two keys; a character outside of Latin takes two bytes. */
const nameBytes = 4
const textBytes = 2

/** Room for a bounded number of changes of bounded size. */
export class ControlRoom {
  #count = 0
  #bytes = 0

  /** Used share, 0 to 1. */
  get used(): number {
    return Math.max(this.#count / mostInForce, this.#bytes / mostBytesInForce)
  }

  /** @returns false if there is no room left */
  take(change: Change): boolean {
    const bytes = bytesOf(change)
    if (this.#count >= mostInForce || this.#bytes + bytes > mostBytesInForce) return false
    this.#count++
    this.#bytes += bytes
    return true
  }

  release(change: Change): void {
    this.#count--
    this.#bytes -= bytesOf(change)
  }
}

function bytesOf({ name, by, reason }: Change): number {
  return changeBytes + nameBytes * name.length + textBytes * (by.length + (reason?.length ?? 0))
}

/** Most scopes that are known by their digest alone. */
const usualMostExcess = 400_000

export type TakeChange = (change: Change, partition: number) => void

/**
 * The last change of each scope that is in force. On one partition, which the control topic should have, record order decides,
 * and ended ones are forgotten; across several, the time set by the writer, and ended ones take room too.
 */
export class LastChanges {
  readonly #partitions: number
  readonly #isOver: (change: Change) => boolean
  readonly #mostExcess: number
  readonly #room = new ControlRoom()
  readonly #last = new Map<string, { change: Change; partition: number }>()
  /** Digests of the scopes in force for which there was no room. */
  readonly #excess = new Set<number>()
  /** Whether there was no room even for a digest. */
  #isLost = false

  /** @param isOver whether a change ends its scope, or has expired */
  constructor(partitions: number, isOver: (change: Change) => boolean, mostExcess = usualMostExcess) {
    this.#partitions = partitions
    this.#isOver = isOver
    this.#mostExcess = mostExcess
  }

  /** Whether something in force is missing. */
  get isOverfull(): boolean {
    return this.#isLost || this.#excess.size > 0
  }

  /** @returns whether it is the last one so far */
  add(change: Change, partition: number): boolean {
    const isAlone = this.#partitions === 1
    const key = keyOf(change)
    const known = this.#last.get(key)
    if (known && known.partition !== partition && known.change.at > change.at) return false
    if (known) this.#room.release(known.change)
    this.#last.delete(key)
    if (isAlone) this.#excess.delete(digestOf(key))
    if (isAlone && this.#isOver(change)) return true
    if (this.#room.take(change)) this.#last.set(key, { change, partition })
    else if (this.#excess.size < this.#mostExcess) this.#excess.add(digestOf(key))
    else this.#isLost = true
    return true
  }

  /** Reads the topic again for what had no room: others may have ended since. @param read to the topic's present end */
  async complete(read: (take: TakeChange) => Promise<unknown>): Promise<void> {
    if (this.#excess.size === 0) return
    const missing = new LastChanges(this.#partitions, this.#isOver)
    await read((change, partition) => {
      if (this.#lacks(change)) missing.add(change, partition)
    })
    for (const { change, partition } of missing.#last.values()) if (this.#lacks(change)) this.add(change, partition)
  }

  #lacks(change: Change): boolean {
    return this.#excess.has(digestOf(keyOf(change)))
  }

  has(change: Change): boolean {
    const known = this.#last.get(keyOf(change))
    return known !== undefined && !this.#isOver(known.change)
  }

  /** Across several partitions, also those that are over. */
  *[Symbol.iterator](): Generator<Change> {
    for (const { change } of this.#last.values()) yield change
  }
}

/** 48 bits, which a number holds. */
const digestOf = (key: string): number => hash('sha1', key, 'buffer').readUIntBE(0, 6)
