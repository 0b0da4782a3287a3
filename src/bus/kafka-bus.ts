import { hostname } from 'node:os'
import { type Clock, limited } from '../clock.ts'
import type { Compression } from './batches/codecs.ts'
import { byTopic, noEpoch, offsetCommit } from './cluster/apis.ts'
import { Brokers } from './cluster/brokers.ts'
import type { Connect, Security } from './cluster/connecting.ts'
import { reachable } from './cluster/errors.ts'
import { joinKafkaGroup, partitionsAgeMs } from './kafka-group.ts'
import { Coordinator } from './membership/coordinator.ts'
import {
  type BlockedPartition,
  type Bus,
  busIsClosed,
  type Follower,
  type From,
  type GroupReadOptions,
  type Isolation,
  type JoinOptions,
  type Membership,
  type OnRecords,
  type Publisher,
  type Query,
  type Reader,
  type RecordsHandler,
  type Searched,
  type SessionListener,
  type TopicLook,
  type TopicPartition,
} from './port.ts'
import type { Fetch } from './read/fetch.ts'
import { fetchRecords } from './read/fetch-api.ts'
import { Fetcher } from './read/fetcher.ts'
import { firstTimes } from './read/offsets.ts'
import { PartitionFollower } from './read/partition-follower.ts'
import { PartitionOffsets } from './read/partition-offsets.ts'
import { recordsAt } from './read/records-at.ts'
import { searchLog } from './read/search.ts'
import { readTopics } from './read-topics.ts'
import { RecordLimits } from './record-limits.ts'
import { Ownership, type OwnershipOptions } from './session/ownership.ts'
import { GroupReading } from './streams/group-reading.ts'
import { AtomicPublisher } from './transactions/atomic-publisher.ts'
import { committedOffsets, stableOffsets } from './transactions/committed-offsets.ts'
import { IdempotentPublisher } from './write/publisher.ts'

export interface KafkaBusOptions
  extends Security,
    Pick<OwnershipOptions, 'groupId' | 'clock' | 'telemetry' | 'drainMs' | 'startFrom'> {
  brokers: readonly string[]
  clientId: string
  /** Opens a connection. Tests that cut the wire replace it. */
  connect?: Connect
  /** Name of this process as a static member (`group.instance.id`); unique in the group. */
  instanceId?: string | undefined
  /** Rack of this process (KIP-392): a replica in the same rack is preferred for fetches. */
  rack?: string | undefined
  sessionTimeoutMs: number
  /** Codec for writes; reads understand every codec. */
  compression: Compression
}

/** A search's fetch answer holds several MiB, hence the long time-out. */
const searchLimitMs = 30_000
const progressLimitMs = 3_000

export class KafkaBus implements Bus {
  readonly kind = 'busgate.Bus'
  readonly #options: KafkaBusOptions
  readonly #brokers: Brokers
  readonly #logs: PartitionOffsets
  readonly #fetcher: Fetcher
  /** Apart, since a fetch has one isolation. Connects at its first reading. */
  readonly #uncommitted: Fetcher
  readonly #closing = new AbortController()
  readonly closing: AbortSignal = this.#closing.signal
  readonly #limits: RecordLimits
  readonly #leaving: Promise<void>[] = []
  readonly #groupReaders: GroupReading[] = []
  #searches = 0

  constructor(options: KafkaBusOptions) {
    const { clock, telemetry, rack, brokers: seeds } = options
    const brokers = new Brokers({ ...options, seeds })
    this.#options = options
    this.#brokers = brokers
    const { closing } = this
    this.#logs = new PartitionOffsets({ brokers, clock, telemetry, closing })
    this.#fetcher = new Fetcher({ brokers, clock, telemetry, closing, rack })
    this.#uncommitted = new Fetcher({ brokers, clock, telemetry, closing, rack, isolation: 'uncommitted' })
    this.#limits = new RecordLimits({ ask: topic => maxMessageBytes(brokers, clock, topic), telemetry })
  }

  async publisher(line: 'commit' | 'apart' = 'commit'): Promise<Publisher> {
    return new IdempotentPublisher({ ...this.#options, brokers: this.#brokers, limits: this.#limits, line })
  }

  async atomicPublisher(name: string): Promise<Pick<Publisher, 'publish'>> {
    const transactionalId = `${this.#options.groupId}-${name}`
    const brokers = this.#brokers
    return reachable(AtomicPublisher.open({ ...this.#options, brokers, limits: this.#limits, transactionalId }))
  }

  async join(
    topics: readonly string[],
    listener: SessionListener,
    { group, installation = {}, ...wishes }: JoinOptions = {},
  ): Promise<Membership> {
    const groupId = group ? `${this.#options.groupId}-${group}` : this.#options.groupId
    const ownership = new Ownership({ ...this.#options, ...wishes, groupId, listener })
    const options = {
      ...this.#options,
      groupId,
      brokers: this.#brokers,
      logs: this.#logs,
      fetcher: this.#fetcher,
      topics,
      limits: this.#limits,
      ownership,
      announcement: { host: hostname(), installation },
      leaving: (left: Promise<void>) => void this.#leaving.push(left),
    }
    await joinKafkaGroup(options, this.closing)
    return ownership
  }

  async follow(tp: TopicPartition, from: From, onRecords: OnRecords, isolation?: Isolation): Promise<Follower> {
    const start = await this.#logs.locate(tp, from, isolation)
    const fetcher = isolation === 'uncommitted' ? this.#uncommitted : this.#fetcher
    return new PartitionFollower({
      ...this.#options,
      ...{ fetcher, tp, start, onRecords, closing: this.closing },
      end: behindOpen => this.#logs.end(tp, behindOpen ? 'uncommitted' : isolation),
    })
  }

  async readInGroup(topics: readonly string[], options: GroupReadOptions): Promise<GroupReading> {
    const ending = AbortSignal.any([options.ending, this.closing])
    const { groupId } = options
    const brokers = this.#brokers
    const process = this.#options.clientId
    const reader = await GroupReading.join({
      ...this.#options,
      ...options,
      ending,
      topics,
      partitionsAgeMs,
      follow: this.follow.bind(this),
      transport: new Coordinator({ ...this.#options, groupId, brokers, topics, process, protocol: 'busgate-readers' }),
      committed: async tps => {
        const progress = await committedOffsets(brokers, groupId, tps)
        return progress.map(({ committed, error }) => {
          if (error) throw error
          return committed?.offset ?? null
        })
      },
      async commit({ generation, memberId }, offsets) {
        const topics = byTopic(offsets, ({ partition, offset }) => ({
          partitionIndex: partition,
          committedOffset: BigInt(offset),
          committedLeaderEpoch: noEpoch,
          committedMetadata: '',
        }))
        const how = { line: 'group', limitMs: progressLimitMs } as const
        await brokers.ask({ group: groupId }, offsetCommit, [groupId, generation, memberId, null, topics], how)
      },
    })
    this.#groupReaders.push(reader)
    return reader
  }

  read(topics: readonly string[], from: From, onRecords: RecordsHandler, isolation?: Isolation): Promise<Reader> {
    return readTopics(this, topics, from, onRecords, isolation)
  }

  recordsAt(tp: TopicPartition, offsets: readonly number[]): ReturnType<Bus['recordsAt']> {
    return recordsAt({ fetch: this.#fetchOf(tp), logs: this.#logs }, tp, offsets)
  }

  #fetchOf(tp: TopicPartition, isolation: Isolation = 'committed'): Fetch {
    return request =>
      this.#brokers.ask({ leader: tp }, fetchRecords, [{ ...request, isolation }], {
        line: 'search',
        limitMs: searchLimitMs,
      })
  }

  search(tp: TopicPartition, query: Query): Promise<Searched> {
    const fetch = this.#fetchOf(tp, query.isolation)
    this.#searches++
    return searchLog({ fetch, logs: this.#logs, running: () => this.#searches }, tp, query).finally(() => {
      this.#searches--
    })
  }

  progress(groupId: string, tps: readonly TopicPartition[]): ReturnType<Bus['progress']> {
    return reachable(stableOffsets(this.#brokers, groupId, tps, this.#options.clock))
  }

  async partitions(topics: readonly string[]): Promise<Map<string, number>> {
    await reachable(this.#brokers.refresh(topics))
    const counts = await Promise.all(
      topics.map(async topic => [topic, await reachable(this.#brokers.partitions(topic))] as const),
    )
    return new Map(counts.filter(([, count]) => count > 0))
  }

  async lookAt(topic: string): Promise<TopicLook | null> {
    const found = await reachable(this.#brokers.topic(topic))
    if (!found) return null
    const leaderless = found.partitions.filter(({ leaderId }) => leaderId < 0).map(one => one.partitionIndex)
    return { id: found.topicId, partitions: found.partitions.length, leaderless }
  }

  firstTimes(tps: readonly TopicPartition[]): Promise<(number | null)[]> {
    return firstTimes(this.#brokers, tps)
  }

  async cleanup(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const policyOf = async (topic: string) => {
      const config = await this.#brokers.config({ topic }, ['cleanup.policy']).catch(() => null) // the right may be missing
      const policy = config?.get('cleanup.policy')
      return policy ? [[topic, policy] as const] : []
    }
    return new Map((await Promise.all(topics.map(policyOf))).flat())
  }

  blocked(): readonly BlockedPartition[] {
    return this.#fetcher.openTransactions.lasting
  }

  async close(): Promise<void> {
    this.#closing.abort(busIsClosed())
    await Promise.all([...this.#leaving, ...this.#groupReaders.map(reader => reader.close())])
    await this.#brokers.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Short, because a commit waits for the answer. */
const patienceMs = 3000

/** max.message.bytes of a topic; null if the client may not see it, or if no answer came. */
export async function maxMessageBytes(brokers: Brokers, clock: Clock, topic: string): Promise<number | null> {
  try {
    const config = await limited(clock, patienceMs, brokers.config({ topic }, ['max.message.bytes']))
    const bytes = Number(config.get('max.message.bytes'))
    return bytes > 0 ? bytes : null
  } catch {
    return null
  }
}
