import type { Traffic } from './traffic.ts'

/** More are not kept: the oldest are forgotten. */
const mostKnown = 100_000
const mostEarly = 10_000
/** A status can be read before the result of its message, by less than this. */
const earlyMs = 5000
/** Statuses that may be told of a message after its verdict. */
const laterWords = /^(READ|REPLIED)$/i

/** A message that was sent, of which no verdict was counted yet. */
interface Sent {
  type: string
  /** Whether no hook of its own went with it: else what the address of its account is told is no verdict. */
  unhooked: boolean
}

interface StatusTold {
  type: string
  state: string
  status: string
  verified: boolean
}

interface Early {
  channel: string
  state: string
  at: number
}

/**
 * Counts one verdict for each message, by the type of the message: status events name the channel, come several times, and
 * may come before the result. Of a message that was sent before, or whose result was forgotten, the channel is counted,
 * where the event is verified: nothing else tells then whether it may be believed.
 */
export class VerdictCounter {
  readonly #traffic: Traffic
  /** Messages that were sent; null: the verdict has been counted. */
  readonly #known = new Map<string, Sent | null>()
  readonly #early = new Map<string, Early>()
  /** Strangers who know the address of an account can tell of any message: apart, so that these push out no others. */
  readonly #earlyUnverified = new Map<string, Early>()

  constructor(traffic: Traffic) {
    this.#traffic = traffic
  }

  /** @param message names it: id and account */
  sent(message: string, sent: Sent): void {
    const early = this.#early.get(message) ?? (sent.unhooked ? this.#earlyUnverified.get(message) : undefined)
    this.#early.delete(message)
    this.#earlyUnverified.delete(message)
    this.#known.set(message, early ? null : sent)
    if (early) this.#traffic.add(['verdict', sent.type, early.state])
    forgetOldest(this.#known, mostKnown)
  }

  told(message: string, { type: channel, state, status, verified }: StatusTold): void {
    const sent = this.#known.get(message)
    if (sent === null) return
    if (sent !== undefined) {
      if (!verified && !sent.unhooked) return
      this.#known.set(message, null)
      this.#traffic.add(['verdict', sent.type, state])
      return
    }
    const early = verified ? this.#early : this.#earlyUnverified
    if (laterWords.test(status) || early.has(message)) return
    early.set(message, { channel, state, at: performance.now() })
    forgetOldest(this.#earlyUnverified, mostEarly)
    if (this.#early.size > mostEarly) this.countEarly()
  }

  /** Counts those whose result did not come in time. Called every few seconds. */
  countEarly(): void {
    for (const [message, { channel, state, at }] of this.#early) {
      if (performance.now() - at < earlyMs && this.#early.size <= mostEarly) return
      this.#early.delete(message)
      this.#traffic.add(['verdict', channel, state])
    }
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) map.delete(map.keys().next().value!)
}
