import type { Pending } from './pending.ts'

export interface EnvelopeBounds {
  operations: number
  /** Bytes of the operations and the commas between them. */
  bytes: number
}

/** First in, first out; takes back at the front. */
class Fifo {
  #items: Pending[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get first(): Pending | undefined {
    return this.#items[this.#head]
  }

  push(pending: Pending): void {
    this.#items.push(pending)
  }

  shift(): void {
    this.#head++
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
  }

  unshift(pendings: readonly Pending[]): void {
    this.#items = [...pendings, ...this.#items.slice(this.#head)]
    this.#head = 0
  }
}

/** The commands of one account on one partition that wait to be packed. */
export class AccountQueue {
  readonly #batched = new Fifo()
  /** call/otp: its answer names no id, and its subscriber waits on the line. */
  readonly #alone = new Fifo()
  /** Halves of an envelope that was refused as a whole: each goes out as it is. */
  readonly #halves: Pending[][] = []
  /** Refused each by itself, nobody knows why: they wait until it can be told whether they are to blame. */
  #aside: Pending[] = []

  get length(): number {
    const halves = this.#halves.reduce((sum, half) => sum + half.length, 0)
    return this.#batched.length + this.#alone.length + halves + this.#aside.length
  }

  /** How many of them wait until it can be told whether they or the gateway are to blame for a refusal. */
  get aside(): number {
    return this.#aside.length
  }

  /** The append time of the oldest command, roughly: queues are in order but for what was taken back. */
  get oldestTimestamp(): number | null {
    const firsts = [this.#batched.first, this.#alone.first, ...this.#halves.map(half => half[0]), this.#aside[0]]
    return firsts.reduce<number | null>((oldest, pending) => {
      if (!pending) return oldest
      const { timestamp } = pending.origin.record
      return oldest === null ? timestamp : Math.min(oldest, timestamp)
    }, null)
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
