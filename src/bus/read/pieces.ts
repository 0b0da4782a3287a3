import type { BusRecord } from '../port.ts'
import type { FetchedRecords } from './fetch.ts'

/** Records that are taken in before the event loop goes round. */
const perTurn = 256
/** No more than this are taken in at once, whatever waits: a few urgent commands do not queue behind a backlog of others. */
const few = 32

/** A part of what a fetch brought, or all of it. */
export interface Piece {
  records: readonly BusRecord[]
  from: number
  next: number
}

/**
 * Deals out the turns of the event loop among all that take in records: the gateway's answers and the brokers' are heard
 * in between, however much a fetch brought. Those that have more for a turn than its part come one after the other.
 */
export class Pieces {
  #left = perTurn
  readonly #waiting: (() => void)[] = []

  /**
   * Gives what was fetched piece by piece, in order.
   * @param give answers whether to go on
   * @returns undefined when all was given at once
   */
  give({ records, next }: FetchedRecords, from: number, give: (piece: Piece) => boolean): Promise<void> | undefined {
    const isForNow = this.#waiting.length === 0 && records.length <= this.#left
    if (isForNow || records.length <= few) {
      this.#left -= records.length
      give({ records, from, next })
      return undefined
    }
    return this.#giveInTurns({ records, from, next }, give)
  }

  async #giveInTurns({ records, from, next }: Piece, give: (piece: Piece) => boolean): Promise<void> {
    for (let begin = 0, at = from; begin < records.length; ) {
      await this.#turn()
      const piece = records.slice(begin, begin + this.#left)
      this.#left -= piece.length
      begin += piece.length
      const end = begin < records.length ? piece.at(-1)!.offset + 1 : next
      if (!give({ records: piece, from: at, next: end })) return
      at = end
    }
  }

  #turn(): Promise<void> {
    return new Promise(resolve => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#next())
    })
  }

  #next(): void {
    this.#left = perTurn
    const resolve = this.#waiting.shift()
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
    resolve?.()
  }
}
