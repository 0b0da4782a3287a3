import { setImmediate } from 'node:timers/promises'
import type { BusRecord } from '../port.ts'
import type { Fetched } from './reading.ts'

/** Most records handled in one tick of the event loop. */
const perTurn = 256
/**
 * Fetches of at most this many records are handled at once, so that a few urgent commands do not queue behind another
 * partition's backlog.
 */
const few = 32

/** Part or all of a fetch. */
export interface Piece {
  records: readonly BusRecord[]
  from: number
  next: number
}

/**
 * Shares the ticks of the event loop among all partitions that deliver records, so that a large fetch does not delay answers
 * of the gateway and the brokers, nor health.
 */
export class TickBudget {
  #lastTurn: Promise<void> = Promise.resolve()

  /**
   * Delivers a fetch piece by piece, in order.
   * @param give returns whether to continue
   * @returns undefined if all was delivered at once
   */
  give(
    { records, next }: Pick<Fetched, 'records' | 'next'>,
    from: number,
    give: (piece: Piece) => boolean | Promise<boolean>,
  ): Promise<void> | undefined {
    if (records.length > few) return this.#giveInTurns({ records, from, next }, give)
    const given = give({ records, from, next })
    return typeof given === 'boolean' ? undefined : given.then(() => {})
  }

  async #giveInTurns(
    { records, from, next }: Piece,
    give: (piece: Piece) => boolean | Promise<boolean>,
  ): Promise<void> {
    for (let begin = 0, at = from; begin < records.length; ) {
      await this.#turn()
      const piece = records.slice(begin, begin + perTurn)
      begin += piece.length
      const end = begin < records.length ? piece.at(-1)!.offset + 1 : next
      if (!(await give({ records: piece, from: at, next: end }))) return
      at = end
    }
  }

  #turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => setImmediate())
    return this.#lastTurn
  }
}
