import type { Clock } from '../clock.ts'
import { type ActsOfTurn, RoundRobin } from './round-robin.ts'

export interface SendersOptions {
  /** Most bytes of requests, as many of unfinished heads, and connections or requests through trusted proxies, of all of them. */
  bytes: number
  visits: number
  /** The part of both that one address may take at most; 1: no bound. */
  shareOfOne: number
  /** How many refusals of one address are answered in a second, after as many at once; further ones have to wait. */
  refusalsOfOne: number
  /** How much is done in one turn of the event loop, for all of them: requests taken and answers given. */
  actsOfTurn: ActsOfTurn
  clock: Clock
}

/** A connection, or a request that came through a trusted proxy, counted on the address that it is from. */
export interface Visit extends Purse {
  /** Heads of which the end has not come are counted apart: whoever floods with them takes no room from requests. */
  heads: Purse
  /** Resolves when it is this sender's turn to have a request taken or answered; null: now. */
  turn(): Promise<void> | null
  /** Counts a refusal. Resolves when it may be answered. */
  refused(): Promise<void>
  /** Frees the sender's place when its last refusal may be answered, so that coming again does not make it sooner. */
  leave(): void
}

export interface Purse {
  /** False: there is no room for so many bytes, of this address or at all. */
  reserve(bytes: number): boolean
  release(bytes: number): void
}

/** Bytes that are taken. */
interface InUse {
  bytes: number
}

interface Sender {
  visits: number
  requests: InUse
  heads: InUse
  /** Monotonic milliseconds at which all its refusals so far would be answered at the steady pace. */
  pacedTo: number
}

/** Whoever was not refused for so long may be refused as often as that time allows without having to wait. */
const burstMs = 1000

/** This part of all that can be had is kept for addresses that take little of it. */
const keptForFew = 1 / 8
/** An address takes little that takes no more than this part. */
const few = 1 / 512

/**
 * Who sends: what each address takes at one time. None may take more than is still free beyond what is kept for those that
 * take little: however many take all that they may, whoever comes new finds room.
 */
export class Senders {
  readonly #options: SendersOptions
  readonly #turns: RoundRobin
  readonly #byAddress = new Map<string, Sender>()
  readonly #requests: InUse = { bytes: 0 }
  readonly #heads: InUse = { bytes: 0 }
  #visits = 0
  /** Calls that wait for their time. */
  readonly #due = new Set<() => void>()
  #isHurried = false

  constructor(options: SendersOptions) {
    this.#options = options
    this.#turns = new RoundRobin(options.actsOfTurn)
  }

  /** Nobody waits any more. */
  hurry(): void {
    this.#isHurried = true
    for (const run of [...this.#due]) run()
  }

  /** To be called with each connection that is accepted. */
  accepted(): void {
    this.#turns.accepted()
  }

  /** A connection of a proxy that is trusted to name its clients: only the sum of all bounds it. */
  enterTrusted(): Visit {
    return this.#visit(newSender(), 1, () => {})
  }

  /** Null: the address has as many visits as it may. */
  enter(address: string): Visit | null {
    const { visits: most, shareOfOne } = this.#options
    const sender = this.#byAddress.get(address) ?? newSender()
    if (!fits(sender.visits + 1, most - this.#visits - 1, most, shareOfOne)) return null
    this.#byAddress.set(address, sender)
    sender.visits++
    this.#visits++
    return this.#visit(sender, shareOfOne, () => {
      sender.visits--
      this.#visits--
      this.#at(sender.pacedTo, () => this.#forget(address, sender))
    })
  }

  #visit(sender: Sender, share: number, left: () => void): Visit {
    const { refusalsOfOne, clock } = this.#options
    let freeFrom = Number.NEGATIVE_INFINITY
    return {
      ...this.#purse(sender.requests, this.#requests, share),
      heads: this.#purse(sender.heads, this.#heads, share),
      turn: () => this.#turns.next(sender),
      refused: () => {
        const paceMs = 1000 / refusalsOfOne
        sender.pacedTo = Math.max(clock.monotonic(), sender.pacedTo) + paceMs
        freeFrom = sender.pacedTo - Math.max(burstMs, paceMs)
        return new Promise(resolve => this.#at(freeFrom, resolve))
      },
      leave: () => this.#at(freeFrom, left),
    }
  }

  #purse(own: InUse, all: InUse, share: number): Purse {
    const { bytes: most } = this.#options
    return {
      reserve(bytes) {
        if (!fits(own.bytes + bytes, most - all.bytes - bytes, most, share)) return false
        own.bytes += bytes
        all.bytes += bytes
        return true
      },
      release(bytes) {
        own.bytes -= bytes
        all.bytes -= bytes
      },
    }
  }

  /** One that comes anew before its refusals are paced would not have to wait. */
  #forget(address: string, { visits, pacedTo }: Sender): void {
    if (visits === 0 && (this.#isHurried || pacedTo <= this.#options.clock.monotonic())) this.#byAddress.delete(address)
  }

  #at(time: number, act: () => void): void {
    const wait = time - this.#options.clock.monotonic()
    if (wait <= 0 || this.#isHurried) {
      act()
      return
    }
    const run = () => {
      cancel()
      this.#due.delete(run)
      act()
    }
    const cancel = this.#options.clock.after(wait, run)
    this.#due.add(run)
  }
}

/** Tells whether an address may take that much in all while so much stays free. */
function fits(taken: number, free: number, most: number, share: number): boolean {
  if (free < 0 || share === 1) return free >= 0
  return taken <= Math.max(1, few * most) || taken <= Math.min(share * most, free - keptForFew * most)
}

const newSender = (): Sender => ({
  visits: 0,
  requests: { bytes: 0 },
  heads: { bytes: 0 },
  pacedTo: Number.NEGATIVE_INFINITY,
})
