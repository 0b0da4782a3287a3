import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Api } from './apis.ts'
import { Channel } from './channel.ts'
import { type Address, addressOf, type Connect, type Security } from './connecting.ts'
import { isTransient, Unanswered } from './errors.ts'

/**
 * Purpose of a connection. A broker processes one request per connection at a time, so requests that may block have their own
 * connection.
 */
export type Line = 'common' | 'fetch' | 'fetch uncommitted' | 'search' | 'group' | 'commit' | 'apart' | `join ${string}`

export interface ChannelsOptions extends Security {
  clientId: string
  /** `host:port` of the bootstrap brokers. */
  seeds: readonly string[]
  clock: Clock
  telemetry: Telemetry
  connect?: Connect | undefined
}

/** For this long, a broker that did not answer is tried last, and not reported again. */
const avoidedMs = 5_000

/** The connections of one process to a cluster: one per broker and line in use. */
export class Channels {
  readonly #options: ChannelsOptions
  readonly #seeds: readonly Address[]
  readonly #usable = new Map<string, Channel>()
  /** Channels that may have requests in flight. */
  readonly #open = new Set<Channel>()
  /** Addresses to try last, each with the end of that time. */
  readonly #avoided = new Map<string, number>()
  #nodes: readonly Address[] = []
  #closed = false

  constructor(options: ChannelsOptions) {
    this.#options = options
    this.#seeds = options.seeds.map(addressOf)
  }

  /**
   * Sets the cluster's current brokers. Connections to other addresses are retired: those brokers have left, or advertise
   * another name.
   */
  know(nodes: readonly Address[]): void {
    this.#nodes = nodes
    const names = new Set(nodes.map(nameOf))
    for (const channel of this.#usable.values()) if (!names.has(nameOf(channel.address))) channel.retire()
  }

  /** Resolves when requests may be sent. */
  async to(address: Address, line: Line): Promise<Channel> {
    if (this.#closed) throw new Unanswered('the connections to the brokers are closed')
    const key = `${line} ${nameOf(address)}`
    const channel = this.#usable.get(key) ?? this.#connect(address, key)
    try {
      await channel.opened
    } catch (error) {
      this.#avoid(address, error)
      throw error
    }
    return channel
  }

  toAny(line: Line): Promise<Channel> {
    return this.#eachUntil(address => this.to(address, line))
  }

  /** @throws ProtocolError for an error code in the answer; Unanswered */
  async ask<Q extends unknown[], A>(channel: Channel, api: Api<Q, A>, request: Q, limitMs: number): Promise<A> {
    try {
      return await channel.ask(api, request, limitMs)
    } catch (error) {
      this.#avoid(channel.address, error)
      throw error
    }
  }

  /** Tries one broker after the other until one answers or refuses. @throws the last error */
  askAround<Q extends unknown[], A>(api: Api<Q, A>, request: Q, limitMs: number): Promise<A> {
    return this.#eachUntil(async address => this.ask(await this.to(address, 'common'), api, request, limitMs))
  }

  close(): void {
    this.#closed = true
    for (const channel of this.#open) channel.close()
  }

  #connect(address: Address, key: string): Channel {
    const { clientId, ssl, sasl, clock, connect = directly } = this.#options
    const onEnd = () => {
      if (this.#usable.get(key) === channel) this.#usable.delete(key)
    }
    const onClosed = () => void this.#open.delete(channel)
    const channel = new Channel({ clientId, address, security: { ssl, sasl }, clock, connect, onEnd, onClosed })
    this.#usable.set(key, channel)
    this.#open.add(channel)
    return channel
  }

  async #eachUntil<T>(attempt: (address: Address) => Promise<T>): Promise<T> {
    let failure: unknown
    for (const address of this.#inTurn()) {
      try {
        return await attempt(address)
      } catch (error) {
        failure = error
        if (!(error instanceof Unanswered || isTransient(error))) break
      }
    }
    throw failure
  }

  /** Known brokers and seeds in random order; those that failed lately come last. */
  #inTurn(): Address[] {
    const byName = new Map([...shuffled(this.#nodes), ...shuffled(this.#seeds)].map(one => [nameOf(one), one]))
    const now = this.#options.clock.monotonic()
    const rank = (name: string) => {
      if ((this.#avoided.get(name) ?? Number.NEGATIVE_INFINITY) > now) return 2
      return this.#usable.has(`common ${name}`) ? 0 : 1
    }
    return [...byName].toSorted(([one], [other]) => rank(one) - rank(other)).map(([, address]) => address)
  }

  #avoid(address: Address, error: unknown): void {
    if (!(error instanceof Unanswered) || this.#closed) return
    const { clock, telemetry } = this.#options
    const now = clock.monotonic()
    const name = nameOf(address)
    if ((this.#avoided.get(name) ?? Number.NEGATIVE_INFINITY) > now) return
    this.#avoided.set(name, now + avoidedMs)
    telemetry.emit('bus.log', { level: 'warn', message: `the broker ${error.message}` })
  }
}

const nameOf = ({ host, port }: Address) => `${host}:${port}`

const directly: Connect = async (connection, { host, port }) => {
  await connection.connect(host, port)
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map(item => ({ item, order: Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
