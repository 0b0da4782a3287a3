import type { metadataV11 as Metadata } from '@platformatic/kafka'
import type { TopicPartition } from '../port.ts'
import { RequestBatcher } from '../request-batcher.ts'
import { type Api, coordinatorKinds, describeConfigs, findCoordinator, metadata, resourceTypes } from './apis.ts'
import type { Channel } from './channel.ts'
import { Channels, type ChannelsOptions, type Line } from './channels.ts'
import type { Address } from './connecting.ts'
import { codeNamed, isTransient, protocolError, Unanswered } from './errors.ts'

export type ClusterMetadata = Metadata.MetadataResponse
export type TopicMetadata = Metadata.MetadataResponseTopic

export type Target = { node: number } | { leader: TopicPartition } | { group: string } | { transaction: string } | 'any'

const usualLimitMs = 10_000
/** Time-out per broker of a request that is tried on one broker after the other. */
const lookLimitMs = 3_000
const metadataAgeMs = 30_000
const unknownTopicOrPartition = codeNamed('UNKNOWN_TOPIC_OR_PARTITION')
const leaderNotAvailable = codeNamed('LEADER_NOT_AVAILABLE')
/** The id that clusters without topic ids answer. */
const noId = '00000000-0000-0000-0000-000000000000'
/** While a request is in flight, metadata is refreshed at this interval to notice a broker that has left. */
const lookWhileWaitingMs = 1_000

/** The brokers of one cluster: its leaders and coordinators, and the connections to them. */
export class Brokers {
  readonly #clock: ChannelsOptions['clock']
  readonly #channels: Channels
  /** The brokers of the last metadata, and coordinators, which may be newer. */
  #nodes = new Map<number, Address>()
  #metadata = new Map<string, TopicMetadata>()
  /** Node ids by coordinator type and name. */
  readonly #coordinators = new Map<string, number>()
  readonly #topics = new Set<string>()
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Whether a leader or broker has changed since the last metadata. */
  #stale = false
  readonly #looks = new RequestBatcher<undefined, undefined>(asked => this.#update().then(() => [...asked]))

  constructor(options: ChannelsOptions) {
    this.#clock = options.clock
    this.#channels = new Channels(options)
  }

  /**
   * Sends one request in the newest version that both sides support. Never retries, but its failure invalidates the known
   * coordinator or leader for the next request. Fails as soon as the broker has left the cluster.
   * @param how.limitMs time-out of the request alone, without finding the target and connecting
   * @throws ProtocolError for an error code in the answer; Unanswered
   */
  async ask<Q extends unknown[], A>(
    target: Target,
    api: Api<Q, A>,
    request: Q,
    { line = 'common', limitMs = usualLimitMs }: { line?: Line; limitMs?: number } = {},
  ): Promise<A> {
    let channel: Channel | null = null
    const stopLooking = this.#lookAgain(() => {
      if (target !== 'any' && channel && !this.#has(channel.address)) channel.close()
    })
    try {
      channel = await this.#channelTo(target, line)
      return await this.#channels.ask(channel, api, request, limitMs)
    } catch (error) {
      this.#learn(target, error)
      throw error
    } finally {
      stopLooking()
    }
  }

  /** Settings of a topic or broker by Kafka's names, default values included. @throws Error as the broker answers */
  async config(of: { topic: string } | { node: number }, keys: readonly string[]): Promise<Map<string, string>> {
    const [type, name, target] =
      'topic' in of ? (['topic', of.topic, 'any'] as const) : (['broker', String(of.node), of] as const)
    const resource = { resourceType: resourceTypes[type], resourceName: name, configurationKeys: [...keys] }
    const { results } = await this.ask(target, describeConfigs, [[resource]])
    return new Map(results[0]!.configs.map(({ name, value }) => [name, value ?? '']))
  }

  /** The leader's node id. @throws ProtocolError, after which the next call refreshes metadata */
  async leader(tp: TopicPartition): Promise<number> {
    await this.#look([tp.topic])
    const ofTopic = this.#metadata.get(tp.topic)
    const found = ofTopic?.partitions.find(one => one.partitionIndex === tp.partition)
    if (found && !ofTopic!.errorCode && found.leaderId >= 0) return found.leaderId
    this.#stale = true
    throw protocolError(ofTopic?.errorCode || (found ? found.errorCode || leaderNotAvailable : unknownTopicOrPartition))
  }

  /** The topic's id in the last metadata; it changes when the topic is deleted and recreated. undefined if unknown. */
  topicId(topic: string): string | undefined {
    const found = this.#metadata.get(topic)
    return found && !found.errorCode && found.topicId !== noId ? found.topicId : undefined
  }

  /** Number of partitions; 0 if the topic does not exist or is hidden from this client. */
  async partitions(topic: string): Promise<number> {
    await this.#look([topic])
    return this.#known(topic)
  }

  /** Current metadata of a topic; null if it does not exist or is hidden from this client. */
  async topic(name: string): Promise<TopicMetadata | null> {
    await this.refresh([name])
    return this.#known(name) > 0 ? this.#metadata.get(name)! : null
  }

  /** Refreshes metadata, now including these topics. */
  refresh(topics: readonly string[] = []): Promise<void> {
    for (const topic of topics) this.#topics.add(topic)
    return this.#looks.get(undefined)
  }

  nodes(): readonly number[] {
    return [...this.#nodes.keys()]
  }

  /** Whether the target supports one of the versions. */
  async understands(target: Target, api: { key: number; versions: readonly { version: number }[] }): Promise<boolean> {
    try {
      return (await this.#channelTo(target, 'common')).versionOf(api) !== null
    } catch (error) {
      this.#learn(target, error)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#channels.close()
  }

  async #channelTo(target: Target, line: Line): Promise<Channel> {
    if (target === 'any') return this.#channels.toAny(line)
    return this.#channels.to(await this.#addressOf(target), line)
  }

  async #addressOf(target: Exclude<Target, 'any'>): Promise<Address> {
    if ('group' in target) return this.#addressOfNode(await this.#coordinator('group', target.group))
    if ('transaction' in target) return this.#addressOfNode(await this.#coordinator('transaction', target.transaction))
    if ('leader' in target) return this.#addressOfNode(await this.leader(target.leader))
    if (this.#stale) await this.#look()
    return this.#addressOfNode(target.node)
  }

  async #addressOfNode(node: number): Promise<Address> {
    if (!this.#nodes.has(node)) await this.refresh()
    const address = this.#nodes.get(node)
    if (!address) throw new Unanswered(`no broker has the id ${node} now`)
    return address
  }

  #learn(target: Target, error: unknown): void {
    const isLost = error instanceof Unanswered
    if (isLost || isTransient(error, 'leader')) this.#stale = true
    if (typeof target === 'string' || !(isLost || isTransient(error, 'coordinator'))) return
    if ('group' in target) this.#coordinators.delete(`group ${target.group}`)
    if ('transaction' in target) this.#coordinators.delete(`transaction ${target.transaction}`)
  }

  async #coordinator(kind: keyof typeof coordinatorKinds, name: string): Promise<number> {
    const key = `${kind} ${name}`
    const known = this.#coordinators.get(key)
    if (known !== undefined) return known
    const request: [number, string[]] = [coordinatorKinds[kind], [name]]
    const { coordinators } = await this.#channels.askAround(findCoordinator, request, lookLimitMs)
    const { nodeId, host, port } = coordinators[0]!
    this.#nodes.set(nodeId, { host, port })
    this.#coordinators.set(key, nodeId)
    return nodeId
  }

  /** Refreshes metadata periodically. @returns a function that stops it */
  #lookAgain(looked: () => void): () => void {
    let stopped = false
    const again = () =>
      this.#clock.after(lookWhileWaitingMs, async () => {
        await this.refresh().catch(() => {}) // the next refresh may succeed
        if (stopped) return
        looked()
        cancel = again()
      })
    let cancel = again()
    return () => {
      stopped = true
      cancel()
    }
  }

  async #look(topics: readonly string[] = []): Promise<void> {
    const isOld = this.#clock.monotonic() - this.#lookedAt > metadataAgeMs
    if (this.#stale || isOld || topics.some(topic => this.#known(topic) === 0)) await this.refresh(topics)
  }

  /** Number of partitions in the last metadata. 0 also for a topic that was missing: it may exist by now. */
  #known(topic: string): number {
    return this.#metadata.get(topic)?.partitions.length ?? 0
  }

  #has({ host, port }: Address): boolean {
    return [...this.#nodes.values()].some(one => one.host === host && one.port === port)
  }

  /** A broker that lags may not know of added partitions yet: their number never falls. */
  #newerOf(found: TopicMetadata): TopicMetadata {
    const known = this.#metadata.get(found.name!)
    const isSame = known?.topicId === found.topicId && found.topicId !== noId
    return isSame && known.partitions.length > found.partitions.length ? known : found
  }

  async #update(): Promise<void> {
    this.#stale = false
    try {
      const { brokers, topics } = await this.#channels.askAround(metadata, [[...this.#topics], false], lookLimitMs)
      this.#nodes = new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]))
      this.#metadata = new Map(topics.map(topic => [topic.name!, this.#newerOf(topic)]))
    } catch (error) {
      this.#stale = true
      throw error
    }
    this.#lookedAt = this.#clock.monotonic()
    this.#channels.know([...this.#nodes.values()])
  }
}
