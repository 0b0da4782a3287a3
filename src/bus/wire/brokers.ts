import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { TopicPartition } from '../port.ts'
import type { Api } from './api.ts'
import { Channel } from './channel.ts'
import { findCoordinator, metadata } from './cluster-apis.ts'
import { ClusterView } from './cluster-view.ts'
import { type Address, addressOf, type Connect, type Security } from './connecting.ts'
import { ProtocolError, protocolError, Unanswered } from './errors.ts'

export type { Api } from './api.ts'

export type Target =
  | { node: number }
  | { leader: TopicPartition }
  | { group: string }
  | { transaction: string }
  | 'any'
  | 'controller'

/** A broker works on one request of a connection at a time, so what may wait has a connection of its own. */
export type Lane = 'common' | 'fetch' | 'group' | 'join' | 'commit'

export interface BrokersOptions extends Security {
  clientId: string
  /** `host:port` of brokers to begin with. */
  seeds: readonly string[]
  clock: Clock
  telemetry: Telemetry
  connect?: Connect | undefined
}

/** Where nothing else is asked for. */
const usualLimitMs = 10_000
/** For what is asked of one broker after the other. */
const lookLimitMs = 3_000
const metadataAgeMs = 30_000
/** A broker that did not answer is asked last for so long. */
const avoidedMs = 5_000
/** A broker that is away is complained of many times a second. */
const repeatAfterMs = 10_000

/** After these the cluster is not what it was taken for. */
const moved = new Set(['NOT_LEADER_OR_FOLLOWER', 'LEADER_NOT_AVAILABLE', 'FENCED_LEADER_EPOCH', 'NOT_CONTROLLER'])
const otherCoordinator = new Set(['NOT_COORDINATOR', 'COORDINATOR_NOT_AVAILABLE'])

/** The brokers of one cluster: who they are, who leads and coordinates what, and a connection to each where it is needed. */
export class Brokers {
  readonly #options: BrokersOptions
  readonly #seeds: readonly Address[]
  readonly #view = new ClusterView()
  /** Those that take requests, by lane and address. */
  readonly #channels = new Map<string, Channel>()
  /** Those on which something may be under way. */
  readonly #open = new Set<Channel>()
  /** Node ids by the group or the transactional id. */
  readonly #coordinators = new Map<string, Promise<number>>()
  /** The topics that metadata is asked for. */
  readonly #topics = new Set<string>()
  /** Until when others are asked first, by address. */
  readonly #avoided = new Map<string, number>()
  readonly #toldAt = new Map<string, number>()
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Whether something has moved since. */
  #stale = false
  #looking: Promise<void> | null = null
  #lookingNext: Promise<void> | null = null
  #closed = false

  constructor(options: BrokersOptions) {
    this.#options = options
    this.#seeds = options.seeds.map(addressOf)
  }

  /**
   * One request, in the newest version that both speak. It is not repeated here; but what its failure tells of coordinators
   * and leaders counts for the next one.
   * @param how.limitMs of this request alone, not of finding and connecting to whom it is for
   * @throws ProtocolError for a code at the top of the answer; Unanswered
   */
  async ask<Q, A>(
    target: Target,
    api: Api<Q, A>,
    request: Q,
    { lane = 'common', limitMs = usualLimitMs }: { lane?: Lane; limitMs?: number } = {},
  ): Promise<A> {
    try {
      let channel = await this.#channelTo(target, lane)
      if (channel.ended) channel = await this.#channelTo(target, lane)
      return await this.#send(channel, api, request, limitMs)
    } catch (error) {
      this.#learn(target, error)
      throw error
    }
  }

  /** The leader's node id. @throws ProtocolError; then the next call asks for metadata anew */
  async leader(tp: TopicPartition): Promise<number> {
    await this.#look([tp.topic])
    try {
      return this.#view.leader(tp)
    } catch (error) {
      this.#stale = true
      throw error
    }
  }

  /** How many partitions; 0: there is no such topic, or it may not be seen. */
  async partitions(topic: string): Promise<number> {
    await this.#look([topic])
    return this.#view.partitions(topic)
  }

  /** Asks for metadata anew, of these topics too. */
  refresh(topics: readonly string[] = []): Promise<void> {
    for (const topic of topics) this.#topics.add(topic)
    if (!this.#looking) return this.#update()
    this.#lookingNext ??= this.#looking
      .catch(() => {})
      .then(() => {
        this.#lookingNext = null
        return this.#update()
      })
    return this.#lookingNext
  }

  nodes(): readonly number[] {
    return this.#view.nodes
  }

  /** Level of a finalised feature of the cluster, such as transaction.version; 0: none. */
  async feature(name: string): Promise<number> {
    return (await this.#channelTo('any', 'common')).features.get(name) ?? 0
  }

  /** Highest version of an API that the target advertises; -1: none. */
  async speaks(target: Target, key: number): Promise<number> {
    return (await this.#channelTo(target, 'common')).speaks(key).max
  }

  /** What is under way fails. */
  async close(): Promise<void> {
    this.#closed = true
    for (const channel of this.#open) channel.close()
  }

  async #channelTo(target: Target, lane: Lane): Promise<Channel> {
    if (target === 'any') return this.#channelToAny(lane)
    return this.#channel(await this.#addressOf(target), lane)
  }

  async #addressOf(target: Exclude<Target, 'any'>): Promise<Address> {
    if (target === 'controller') {
      await this.#look()
      return this.#addressOfNode(this.#view.controller)
    }
    if ('group' in target) return this.#addressOfNode(await this.#coordinator('group', target.group))
    if ('transaction' in target) return this.#addressOfNode(await this.#coordinator('transaction', target.transaction))
    if ('leader' in target) return this.#addressOfNode(await this.leader(target.leader))
    if (this.#stale) await this.#look()
    return this.#addressOfNode(target.node)
  }

  async #addressOfNode(node: number): Promise<Address> {
    if (!this.#view.address(node)) await this.refresh()
    const address = this.#view.address(node)
    if (!address) throw new Unanswered(`no broker has the id ${node} now`)
    return address
  }

  /** The first that can be reached. */
  async #channelToAny(lane: Lane): Promise<Channel> {
    return this.#eachUntil(address => this.#channel(address, lane))
  }

  async #channel(address: Address, lane: Lane): Promise<Channel> {
    if (this.#closed) throw new Unanswered('the connections to the brokers are closed')
    const key = `${lane} ${nameOf(address)}`
    const channel = this.#channels.get(key) ?? this.#connect(address, key)
    try {
      await channel.opened
    } catch (error) {
      this.#avoid(address, error)
      throw error
    }
    return channel
  }

  #connect(address: Address, key: string): Channel {
    const { clientId, ssl, sasl, clock, connect = directly } = this.#options
    const onEnd = () => {
      if (this.#channels.get(key) === channel) this.#channels.delete(key)
    }
    const onClosed = () => void this.#open.delete(channel)
    const channel = new Channel({ clientId, address, security: { ssl, sasl }, clock, connect, onEnd, onClosed })
    this.#channels.set(key, channel)
    this.#open.add(channel)
    return channel
  }

  async #send<Q, A>(channel: Channel, api: Api<Q, A>, request: Q, limitMs: number): Promise<A> {
    try {
      const answer = await channel.ask(api, request, limitMs)
      const { errorCode, errorMessage } = (answer ?? {}) as { errorCode?: number; errorMessage?: string | null }
      if (errorCode) throw protocolError(errorCode, errorMessage, { answer })
      return answer
    } catch (error) {
      this.#avoid(channel.address, error)
      throw error
    }
  }

  #learn(target: Target, error: unknown): void {
    const isLost = error instanceof Unanswered
    const type = error instanceof ProtocolError ? error.type : ''
    if (isLost || moved.has(type)) this.#stale = true
    if (typeof target === 'string' || !(isLost || otherCoordinator.has(type))) return
    if ('group' in target) this.#coordinators.delete(`group ${target.group}`)
    if ('transaction' in target) this.#coordinators.delete(`transaction ${target.transaction}`)
  }

  #coordinator(kind: 'group' | 'transaction', name: string): Promise<number> {
    const key = `${kind} ${name}`
    const known = this.#coordinators.get(key)
    if (known) return known
    const found = this.#find(kind, name)
    this.#coordinators.set(key, found)
    found.catch(() => {
      if (this.#coordinators.get(key) === found) this.#coordinators.delete(key)
    })
    return found
  }

  async #find(kind: 'group' | 'transaction', name: string): Promise<number> {
    const { node } = await this.#askAround(findCoordinator, { kind, name })
    this.#view.add(node)
    return node.id
  }

  async #look(topics: readonly string[] = []): Promise<void> {
    const isOld = this.#options.clock.monotonic() - this.#lookedAt > metadataAgeMs
    if (this.#stale || isOld || topics.some(topic => !this.#view.knows(topic))) await this.refresh(topics)
  }

  #update(): Promise<void> {
    this.#stale = false
    const looking = this.#askAround(metadata, { topics: [...this.#topics] }).then(
      answer => {
        this.#lookedAt = this.#options.clock.monotonic()
        this.#looking = null
        this.#view.take(answer)
        this.#retireStrangers()
      },
      error => {
        this.#stale = true
        this.#looking = null
        throw error
      },
    )
    this.#looking = looking
    return looking
  }

  /** Brokers that have left, and names of brokers that call themselves by another one. */
  #retireStrangers(): void {
    const names = new Set(this.#view.addresses.map(nameOf))
    for (const channel of this.#channels.values()) if (!names.has(nameOf(channel.address))) channel.retire()
  }

  #askAround<Q, A>(api: Api<Q, A>, request: Q): Promise<A> {
    return this.#eachUntil(async address =>
      this.#send(await this.#channel(address, 'common'), api, request, lookLimitMs),
    )
  }

  /** Tries one broker after the other until one answers, or refuses. @throws Error of the last one */
  async #eachUntil<T>(attempt: (address: Address) => Promise<T>): Promise<T> {
    let failure: unknown
    for (const address of this.#inTurn()) {
      try {
        return await attempt(address)
      } catch (error) {
        failure = error
        if (!(error instanceof Unanswered || (error instanceof ProtocolError && error.retriable))) break
      }
    }
    throw failure
  }

  /** Brokers that are known and seeds, in random order, those that did not answer lately at the end. */
  #inTurn(): Address[] {
    const byName = new Map([...shuffled(this.#view.addresses), ...shuffled(this.#seeds)].map(one => [nameOf(one), one]))
    const now = this.#options.clock.monotonic()
    const rank = (name: string) => {
      if ((this.#avoided.get(name) ?? Number.NEGATIVE_INFINITY) > now) return 2
      return this.#channels.has(`common ${name}`) ? 0 : 1
    }
    return [...byName].toSorted(([one], [other]) => rank(one) - rank(other)).map(([, address]) => address)
  }

  #avoid(address: Address, error: unknown): void {
    if (!(error instanceof Unanswered) || this.#closed) return
    const { clock, telemetry } = this.#options
    const now = clock.monotonic()
    this.#avoided.set(nameOf(address), now + avoidedMs)
    if (now - (this.#toldAt.get(error.message) ?? Number.NEGATIVE_INFINITY) < repeatAfterMs) return
    if (this.#toldAt.size > 1000) this.#toldAt.clear()
    this.#toldAt.set(error.message, now)
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
