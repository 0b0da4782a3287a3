import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import { type Clock, sleep } from '../../clock.ts'
import type {
  Bus,
  Follower,
  From,
  JoinOptions,
  Membership,
  OnRecords,
  Publisher,
  Reader,
  RecordsHandler,
  SessionListener,
  TopicPartition,
  TopicSpec,
} from '../port.ts'
import { readTopics } from '../read-topics.ts'
import { RecordLimits } from '../record-limits.ts'
import { Ownership, type OwnershipOptions } from '../session/ownership.ts'
import { consumerKafka, type KafkaConnection, readerKafka, sessionKafka } from './client.ts'
import type { Compression } from './codecs.ts'
import { joinKafkaGroup } from './group.ts'
import { LogReader } from './log-reader.ts'
import { kafkaPublisher } from './publisher.ts'
import { reachable } from './reachable.ts'
import { maxMessageBytes } from './topic-config.ts'

export interface KafkaBusOptions extends KafkaConnection {
  groupId: string
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
  drainMs: number
  startFrom: OwnershipOptions['startFrom']
  onDataLoss: OwnershipOptions['onDataLoss']
  /** Of what is written; every codec is read. */
  compression: Compression
  clock: Clock
}

/** Of topics just made. */
const leadersWithinMs = 30_000

/** The bus on Apache Kafka, through kafkajs. */
export class KafkaBus implements Bus {
  readonly #options: KafkaBusOptions
  readonly #sessions: Kafka
  readonly #log: LogReader
  readonly #closing = new AbortController()
  readonly #limits: RecordLimits
  readonly #leaving: Promise<void>[] = []
  #admin: Promise<Admin> | null = null

  constructor(options: KafkaBusOptions) {
    this.#options = options
    this.#sessions = sessionKafka(options)
    this.#log = new LogReader({ ...options, kafka: readerKafka(options) })
    const { clock, telemetry } = options
    const ask = (topic: string) => maxMessageBytes(() => this.#connectedAdmin(), clock, topic)
    this.#limits = new RecordLimits({ ask, clock, telemetry })
  }

  publisher(): Promise<Publisher> {
    return kafkaPublisher(this.#sessions, this.#limits, this.#options.compression)
  }

  async join(
    topics: readonly string[],
    listener: SessionListener,
    { group, ...wishes }: JoinOptions = {},
  ): Promise<Membership> {
    const groupId = group ? `${this.#options.groupId}-${group}` : this.#options.groupId
    const ownership = new Ownership({ ...this.#options, ...wishes, groupId, listener })
    const options = {
      ...this.#options,
      groupId,
      consumerKafka: consumerKafka(this.#options),
      readerKafka: readerKafka(this.#options),
      sessionKafka: this.#sessions,
      topics,
      limits: this.#limits,
      ownership,
      leaving: (left: Promise<void>) => void this.#leaving.push(left),
    }
    await joinKafkaGroup(options, this.#closing.signal)
    return ownership
  }

  follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower> {
    return this.#log.follow(tp, from, onRecords)
  }

  read(topics: readonly string[], from: From, onRecords: RecordsHandler): Promise<Reader> {
    return readTopics(this, topics, from, onRecords)
  }

  async createTopics(specs: readonly TopicSpec[]): Promise<void> {
    const admin = await this.#connectedAdmin()
    await admin.createTopics({
      waitForLeaders: false, // kafkajs's wait fails when a broker does not know the topic at once
      topics: specs.map(({ topic, partitions, replicationFactor = -1, config = {} }) => ({
        topic,
        numPartitions: partitions,
        replicationFactor,
        configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
      })),
    })
    await this.#untilLed(
      admin,
      specs.map(({ topic }) => topic),
    )
  }

  /** Resolves when every partition of the topics has a leader. */
  async #untilLed(admin: Admin, topics: string[]): Promise<void> {
    const { clock } = this.#options
    for (const end = clock.monotonic() + leadersWithinMs; ; await sleep(clock, 50)) {
      const metadata = await admin.fetchTopicMetadata({ topics }).catch((error: Error) => error)
      const ready =
        !(metadata instanceof Error) &&
        metadata.topics.every(
          ({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0),
        )
      if (ready) return
      if (clock.monotonic() > end) {
        throw new Error(`${topics.join(', ')}: no leader for each partition within ${leadersWithinMs / 1000} s`, {
          cause: metadata,
        })
      }
    }
  }

  async partitions(topics: readonly string[]): Promise<Map<string, number>> {
    const admin = await this.#connectedAdmin()
    const existing = new Set(await reachable(admin.listTopics()))
    const wanted = topics.filter(topic => existing.has(topic))
    if (wanted.length === 0) return new Map()
    const metadata = await reachable(admin.fetchTopicMetadata({ topics: wanted }))
    return new Map(metadata.topics.map(({ name, partitions }) => [name, partitions.length]))
  }

  async compacted(topics: readonly string[]): Promise<string[]> {
    const admin = await this.#connectedAdmin()
    const resources = topics.map(name => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: ['cleanup.policy'],
    }))
    const described = await admin.describeConfigs({ resources, includeSynonyms: false }).catch(() => null) // the right may be missing
    const isCompacted = ({ configEntries }: { configEntries: { configValue: string }[] }) =>
      configEntries.some(({ configValue }) => configValue.includes('compact'))
    return (described?.resources ?? []).filter(isCompacted).map(({ resourceName }) => resourceName)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#leaving)
    await this.#log.close()
    const admin = await this.#admin?.catch(() => null) // whoever asked for it has been told
    await admin?.disconnect()
  }

  #connectedAdmin(): Promise<Admin> {
    this.#admin ??= this.#connect()
    return this.#admin
  }

  async #connect(): Promise<Admin> {
    const admin = this.#sessions.admin()
    try {
      await reachable(admin.connect())
      return admin
    } catch (error) {
      this.#admin = null
      throw error
    }
  }
}
