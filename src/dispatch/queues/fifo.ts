import type { Backlog } from '../../bus/port.ts'
import type { Pending } from '../pending.ts'

/** So many items that have left may stand before the others. */
const fewGone = 32

/** First in, first out; takes back at the front. */
export class Fifo {
  /** Items before the head are undefined, so that nobody keeps them in memory: queues are many. */
  #items: (Pending | undefined)[] = []
  #head = 0
  bytes = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get first(): Pending | undefined {
    return this.#items[this.#head]
  }

  push(pending: Pending): void {
    this.#items.push(pending)
    this.bytes += pending.heldBytes
  }

  shift(): void {
    this.bytes -= this.first!.heldBytes
    this.#items[this.#head++] = undefined
    if (this.#head > fewGone && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
  }

  /** Takes out the youngest ones beyond the bounds; one is never too large. */
  cut({ records, bytes }: Backlog): Pending[] {
    const items = this.#waiting
    let [kept, sum] = [0, 0]
    for (const { heldBytes } of items) {
      sum += heldBytes
      if (kept >= records || (kept > 0 && sum > bytes)) break
      kept++
    }
    const cut = items.slice(kept)
    this.#items = items.slice(0, kept)
    this.#head = 0
    this.bytes -= bytesOf(cut)
    return cut
  }

  /** Takes out those that are to go, wherever they stand. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    const { out = [], kept = [] } = Object.groupBy(this.#waiting, pending => (goes(pending) ? 'out' : 'kept'))
    if (out.length === 0) return out
    this.#items = kept
    this.#head = 0
    this.bytes = bytesOf(kept)
    return out
  }

  unshift(pendings: readonly Pending[]): void {
    this.#items = [...pendings, ...this.#waiting]
    this.#head = 0
    this.bytes += bytesOf(pendings)
  }

  get #waiting(): Pending[] {
    return this.#items.slice(this.#head) as Pending[]
  }
}

const bytesOf = (pendings: readonly Pending[]) => pendings.reduce((sum, { heldBytes }) => sum + heldBytes, 0)
