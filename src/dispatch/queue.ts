import type { Backlog } from '../bus/port.ts'
import { end, type Pending } from './pending.ts'
import { Shelf } from './shelf.ts'

export interface EnvelopeBounds {
  operations: number
  /** Bytes of the operations and the commas between them. */
  bytes: number
}

/** First in, first out; takes back at the front. */
class Fifo {
  #items: Pending[] = []
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
    this.bytes += pending.command.bytes
  }

  shift(): void {
    this.bytes -= this.first!.command.bytes
    this.#head++
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
  }

  /** Takes out the youngest ones beyond the bounds; one is never too large. */
  cut({ records, bytes }: Backlog): Pending[] {
    const items = this.#items.slice(this.#head)
    let [kept, sum] = [0, 0]
    for (const { command } of items) {
      sum += command.bytes
      if (kept >= records || (kept > 0 && sum > bytes)) break
      kept++
    }
    const cut = items.slice(kept)
    this.#items = items.slice(0, kept)
    this.#head = 0
    this.bytes -= bytesOf(cut)
    return cut
  }

  unshift(pendings: readonly Pending[]): void {
    this.#items = [...pendings, ...this.#items.slice(this.#head)]
    this.#head = 0
    this.bytes += bytesOf(pendings)
  }
}

const bytesOf = (pendings: readonly Pending[]) => pendings.reduce((sum, { command }) => sum + command.bytes, 0)

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
  /** Refused each by itself, nobody knows why: they wait until it can be told whether they are to blame. */
  #aside: Pending[] = []

  /** How many are in memory. */
  get length(): number {
    const halves = this.#halves.reduce((sum, half) => sum + half.length, 0)
    return this.#batched.length + this.#alone.length + halves + this.#aside.length
  }

  /** How many of them wait until it can be told whether they or the gateway are to blame for a refusal. */
  get aside(): number {
    return this.#aside.length
  }

  /** Bytes of those operations in memory, without the halves of refused envelopes. */
  get bytes(): number {
    return this.#batched.bytes + this.#alone.bytes
  }

  /** The append time of the oldest command, roughly: queues are in order but for what was taken back. */
  get oldestTimestamp(): number | null {
    const firsts = [this.#batched.first, this.#alone.first, ...this.#halves.map(half => half[0]), this.#aside[0]]
    const times = firsts.map(pending => pending?.since ?? Number.POSITIVE_INFINITY)
    const oldest = Math.min(...times, this.shelf.oldestTimestamp ?? Number.POSITIVE_INFINITY)
    return Number.isFinite(oldest) ? oldest : null
  }

  push(pending: Pending): void {
    this.#fifoOf(pending).push(pending)
  }

  /** Takes commands back that were not sent; they are the next to go. */
  putBack(pendings: readonly Pending[]): void {
    const [alone, batched] = [pendings.filter(isAlone), pendings.filter(pending => !isAlone(pending))]
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

  /** Takes back a command that was refused alone. It goes out again, alone, when it is vouched for or another one passed. */
  putAside(pending: Pending): void {
    this.#aside.push(pending)
  }

  /** A command of the account that began at this instant of the monotonic clock has passed. */
  passed(at: number): void {
    if (this.#aside.length === 0) return
    this.#aside = this.#aside.filter(({ over }) => !over)
    this.#takeUp(({ refusal }) => !refusal || refusal.at < at)
  }

  /** The gateway answers the account. */
  vouch(): void {
    for (const { refusal } of this.#aside) if (refusal) refusal.vouched = true
    this.#takeUp(() => true)
  }

  #takeUp(chosen: (pending: Pending) => boolean): void {
    for (const pending of this.#aside.filter(chosen)) this.#halves.push([pending])
    this.#aside = this.#aside.filter(pending => !chosen(pending))
  }

  /** Milliseconds until an envelope is due: full, or its first command has waited for `lingerMs`. null: nothing waits. */
  due(now: number, lingerMs: number, operations: number): number | null {
    if (this.#halves.length > 0 || this.#alone.length > 0 || this.#batched.length >= operations) return 0
    const first = this.#batched.first
    return first ? Math.max(0, first.readyAt + lingerMs - now) : null
  }

  /** Takes the next envelope; `accept` may dispose of a command instead of having it packed. */
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
