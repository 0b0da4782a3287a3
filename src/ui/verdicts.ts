import type { Traffic } from './traffic.ts'

/** More are not kept: the oldest are forgotten. */
const mostKnown = 100_000
const mostEarly = 10_000
/** A status can be read before the result of its message, by less than this. */
const earlyMs = 5000
/** Statuses that may be told of a message after its verdict. */
const laterWords = /^(READ|REPLIED)$/i

/**
 * Counts one verdict for each message, by the type of the message: status events name the channel, come several times, and
 * may come before the result. Of a message that was sent before, or whose result was forgotten, the channel is counted.
 */
export class VerdictCounter {
  readonly #traffic: Traffic
  /** Types of messages that were sent; null: its verdict has been counted. */
  readonly #known = new Map<string, string | null>()
  readonly #early = new Map<string, { channel: string; state: string; at: number }>()

  constructor(traffic: Traffic) {
    this.#traffic = traffic
  }

  /** @param message names it: id and account */
  sent(message: string, type: string): void {
    const early = this.#early.get(message)
    this.#early.delete(message)
    this.#known.set(message, early ? null : type)
    if (early) this.#traffic.add(['verdict', type, early.state])
    if (this.#known.size > mostKnown) this.#known.delete(this.#known.keys().next().value!)
  }

  told(message: string, { type: channel, state, status }: { type: string; state: string; status: string }): void {
    const type = this.#known.get(message)
    if (type === null) return
    if (type !== undefined) {
      this.#known.set(message, null)
      this.#traffic.add(['verdict', type, state])
    } else if (!laterWords.test(status) && !this.#early.has(message)) {
      this.#early.set(message, { channel, state, at: Date.now() })
      if (this.#early.size > mostEarly) this.countEarly()
    }
  }

  /** Counts those whose result did not come in time. Called every few seconds. */
  countEarly(): void {
    for (const [message, { channel, state, at }] of this.#early) {
      if (Date.now() - at < earlyMs && this.#early.size <= mostEarly) return
      this.#early.delete(message)
      this.#traffic.add(['verdict', channel, state])
    }
  }
}
