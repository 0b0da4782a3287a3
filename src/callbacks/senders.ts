import type { Clock } from '../clock.ts'

export interface SendersOptions {
  /** Most bytes that all of them may take. */
  bytes: number
  /** Most bytes that one address may take. */
  bytesOfOne: number
  /** Most connections, or requests through trusted proxies, of one address. */
  visitsOfOne: number
  /** How many refusals of one address are answered in a second; further ones have to wait. */
  refusalsOfOne: number
  clock: Clock
}

/** A connection, or a request that came through a trusted proxy, counted on the address that it is from. */
export interface Visit {
  /** False: there is no room for so many bytes, of this address or at all. */
  reserve(bytes: number): boolean
  release(bytes: number): void
  /** Counts a refusal. @returns milliseconds until it may be answered */
  refused(): number
  /** Its place is free when its last refusal may be answered, so that coming again does not make it sooner. */
  leave(): void
}

interface Sender {
  visits: number
  bytes: number
  /** Monotonic milliseconds from which on its next refusal may be answered. */
  answerFrom: number
}

/** Who sends: what each address takes at one time. One that takes all it may leaves the rest to the others. */
export class Senders {
  readonly #options: SendersOptions
  readonly #byAddress = new Map<string, Sender>()
  #bytes = 0

  constructor(options: SendersOptions) {
    this.#options = options
  }

  /** A connection of a proxy that is trusted to name its clients: only the sum of all bounds it. */
  enterTrusted(): Visit {
    return this.#visit(newSender(), Number.POSITIVE_INFINITY, () => {})
  }

  /** Null: the address has as many visits as it may. */
  enter(address: string): Visit | null {
    const sender = this.#byAddress.get(address) ?? newSender()
    if (sender.visits >= this.#options.visitsOfOne) return null
    this.#byAddress.set(address, sender)
    sender.visits++
    return this.#visit(sender, this.#options.bytesOfOne, () => {
      if (--sender.visits === 0) this.#byAddress.delete(address)
    })
  }

  #visit(sender: Sender, bytesOfOne: number, left: () => void): Visit {
    const { bytes: most, refusalsOfOne, clock } = this.#options
    let freeFrom = Number.NEGATIVE_INFINITY
    return {
      reserve: bytes => {
        if (sender.bytes + bytes > bytesOfOne || this.#bytes + bytes > most) return false
        sender.bytes += bytes
        this.#bytes += bytes
        return true
      },
      release: bytes => {
        sender.bytes -= bytes
        this.#bytes -= bytes
      },
      refused() {
        const now = clock.monotonic()
        freeFrom = Math.max(now, sender.answerFrom)
        sender.answerFrom = freeFrom + 1000 / refusalsOfOne
        return freeFrom - now
      },
      leave() {
        const wait = freeFrom - clock.monotonic()
        if (wait > 0) clock.after(wait, left)
        else left()
      },
    }
  }
}

const newSender = (): Sender => ({ visits: 0, bytes: 0, answerFrom: Number.NEGATIVE_INFINITY })
