import type { Backlog } from '../bus/port.ts'
import { Fifo } from './fifo.ts'
import { end, type Pending } from './pending.ts'
import { isSuspect } from './refusals.ts'
import { Shelf } from './shelf.ts'
import { Suspects } from './suspects.ts'

export interface EnvelopeBounds {
  operations: number
  /** Bytes of the operations and the commas between them. */
  bytes: number
}

/**
 * The commands of one account on one partition that wait to be packed: the older ones in memory, and where they are too
 * many for it, the younger ones on the shelf.
 */
export class AccountQueue {
  readonly #batched = new Fifo()
  /** call/otp: its answer names no id, and its subscriber waits on the line. */
  readonly #alone = new Fifo()
  /** Halves of an envelope that was refused as a whole: each goes out as it is. */
  readonly #halves: Pending[][] = []
  readonly shelf = new Shelf()
  /** Refused each by itself, nobody knows why: they go out again alone, when `suspects` says so. */
  readonly suspects = new Suspects()

  /** How many are in memory. */
  get length(): number {
    const halves = this.#halves.reduce((sum, half) => sum + half.length, 0)
    return this.#batched.length + this.#alone.length + halves + this.suspects.length
  }

  /** Bytes of those operations in memory, without the halves of refused envelopes. */
  get bytes(): number {
    return this.#batched.bytes + this.#alone.bytes
  }

  /** The append time of the oldest command, roughly: queues are in order but for what was taken back. */
  get oldestTimestamp(): number | null {
    const halves = this.#halves.map(half => half[0])
    const firsts = [this.#batched.first, this.#alone.first, ...halves, ...this.suspects.firsts]
    const times = firsts.map(pending => pending?.since ?? Number.POSITIVE_INFINITY)
    const oldest = Math.min(...times, this.shelf.oldestTimestamp ?? Number.POSITIVE_INFINITY)
    return Number.isFinite(oldest) ? oldest : null
  }

  push(pending: Pending): void {
    this.#fifoOf(pending).push(pending)
  }

  /** Takes commands back that were not sent; they are the next to go. */
  putBack(pendings: readonly Pending[]): void {
    const suspects = pendings.filter(isSuspect)
    if (suspects.length > 0) this.suspects.putBack(suspects)
    const others = pendings.filter(pending => !isSuspect(pending))
    const [alone, batched] = [others.filter(isAlone), others.filter(pending => !isAlone(pending))]
    if (alone.length > 0) this.#alone.unshift(alone)
    if (batched.length > 0) this.#batched.unshift(batched)
  }

  /**
   * Puts those on the shelf that are beyond what memory is to keep, but no doubts: called back, each would have to be
   * asked for anew, which can use up the rate that it waits for. @returns their offsets
   */
  shelve(kept: Backlog, maxAgeMs: number): number[] {
    if ((this.#batched.first ?? this.#alone.first)?.doubted) return []
    const alone = this.#alone.cut(kept)
    const records = Math.max(0, kept.records - this.#alone.length)
    const cut = [...alone, ...this.#batched.cut({ ...kept, records })]
    for (const pending of cut) {
      this.shelf.add(pending, maxAgeMs)
      end(pending)
    }
    return cut.map(({ offset }) => offset)
  }

  /** Takes back an envelope that was refused as a whole, in two halves. */
  putBackHalved(pendings: readonly Pending[]): void {
    const middle = Math.ceil(pendings.length / 2)
    const halves = [pendings.slice(0, middle), pendings.slice(middle)]
    this.#halves.push(...halves.filter(({ length }) => length > 0))
  }

  /** Milliseconds until an envelope is due: full, or its first command has waited for `lingerMs`. Infinity: nothing waits but suspects. */
  due(now: number, lingerMs: number, operations: number): number {
    if (this.#halves.length > 0 || this.#alone.length > 0 || this.#batched.length >= operations) return 0
    const first = this.#batched.first
    return first ? Math.max(0, first.readyAt + lingerMs - now) : Number.POSITIVE_INFINITY
  }

  /** Takes the next envelope, without suspects; `accept` may dispose of a command instead of having it packed. */
  pack(bounds: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
    const half = this.#halves.shift()
    if (half) return this.#packHalf(half, bounds, accept)
    return this.#alone.length > 0
      ? takeFrom(this.#alone, { ...bounds, operations: 1 }, accept)
      : takeFrom(this.#batched, bounds, accept)
  }

  #packHalf(half: Pending[], { operations }: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
    if (half.length > operations) this.#halves.unshift(half.slice(operations))
    return half.slice(0, operations).filter(accept)
  }

  #fifoOf(pending: Pending): Fifo {
    return isAlone(pending) ? this.#alone : this.#batched
  }
}

const isAlone = ({ command }: Pending) => command.type === 'call/otp'

function takeFrom(fifo: Fifo, bounds: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
  const taken: Pending[] = []
  let bytes = -1
  while (taken.length < bounds.operations) {
    const next = fifo.first
    if (!next || (taken.length > 0 && bytes + 1 + next.command.bytes > bounds.bytes)) break
    fifo.shift()
    if (!accept(next)) continue
    taken.push(next)
    bytes += 1 + next.command.bytes
  }
  return taken
}
