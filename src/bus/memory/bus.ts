import { hostname } from 'node:os'
import type { Acquired, Part } from '../driver.ts'
import { GroupMember, type GroupTransport, isTaken, type MemberOf } from '../membership/member.ts'
import { allPartitions, placeName } from '../partitions.ts'
import {
  type Bus,
  BusUnavailable,
  busIsClosed,
  type Follower,
  type From,
  type GroupReadOptions,
  type JoinOptions,
  type Membership,
  type OnRecords,
  type OutgoingRecord,
  type Publisher,
  type Query,
  type Reader,
  type RecordsHandler,
  type Searched,
  type SessionListener,
  type TopicLook,
  type TopicPartition,
} from '../port.ts'
import { PartitionFollower } from '../read/partition-follower.ts'
import { readTopics } from '../read-topics.ts'
import { RecordLimits } from '../record-limits.ts'
import { matcherOf } from '../scan.ts'
import { OwnedReadings } from '../session/owned-readings.ts'
import { Ownership, type OwnershipOptions } from '../session/ownership.ts'
import { GroupReading } from '../streams/group-reading.ts'
import { ProducerTurns } from '../transactions/producer-turns.ts'
import type { MemoryBroker, ProducerEpoch } from './broker.ts'
import { MemoryFetcher } from './fetcher.ts'
import type { Joiner, MemoryGroup } from './group.ts'

export interface MemoryBusOptions
  extends Pick<OwnershipOptions, 'groupId' | 'clock' | 'telemetry' | 'drainMs' | 'startFrom' | 'backlog'> {
  broker: MemoryBroker
  /** Default 10,000. */
  sessionTimeoutMs?: number
  /** Most records per fetch; default 500. */
  fetchRecords?: number
  /** Simulates the network: called before and after every step at the broker. May reject for a commit or an acquisition. */
  hop?: Hop
}

/**
 * @param step the request, e.g. `commit commands/0`
 * @param answer the broker's answer or refusal, on the way back
 */
export type Hop = (step: string, way: 'there' | 'back', answer?: PromiseSettledResult<unknown>) => Promise<void>

const partitionsAgeMs = 1000

const defaults = { sessionTimeoutMs: 10_000, fetchRecords: 500 } as const

const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve))

/** The embedded bus, for trials and simulations. Keeps every promise of the port, but its content ends with the process. */
export class MemoryBus implements Bus {
  readonly kind = 'busgate.Bus'
  readonly #options: MemoryBusOptions & Required<Pick<MemoryBusOptions, keyof typeof defaults>>
  readonly #hop: Hop
  readonly #limits: RecordLimits
  readonly #fetcher: MemoryFetcher
  readonly #closing = new AbortController()
  readonly closing: AbortSignal = this.#closing.signal
  readonly #closers = new Set<() => Promise<void> | void>()
  readonly #members = new Map<string, MemoryGroup>()
  #crashed = false

  constructor(options: MemoryBusOptions) {
    this.#options = { ...defaults, ...options }
    this.#hop = options.hop ?? nextTurn
    const { broker, telemetry } = options
    this.#fetcher = new MemoryFetcher({
      broker,
      hop: (tp, way) => this.#hop(`fetch ${placeName(tp)}`, way),
      mostRecords: this.#options.fetchRecords,
      closing: this.closing,
    })
    const ask = (topic: string) =>
      this.#atBroker(`describe ${topic}`, broker => broker.maxMessageBytes(topic)).catch(() => null)
    this.#limits = new RecordLimits({ ask, telemetry })
  }

  async publisher(): Promise<Publisher> {
    return {
      connect: async () => {},
      publish: records =>
        this.#limits.produce(records, fitting =>
          this.#atBroker('publish', broker => broker.append(fitting, this.#options.clock.now())),
        ),
      close: async () => {},
    }
  }

  async atomicPublisher(name: string): Promise<Pick<Publisher, 'publish'>> {
    const { clock, groupId } = this.#options
    const id = `${groupId}-${name}`
    const epoch = await this.#atBroker('open', broker => broker.fence(id))
    const producer = { id, epoch }
    const write = (records: readonly OutgoingRecord[]) =>
      this.#atBroker('commit', broker => {
        broker.write(producer, { groupId, records, offsets: [] }, clock.now())
        broker.endTransaction(producer)
      })
    return { publish: records => this.#limits.produce(records, write) }
  }

  async join(
    topics: readonly string[],
    listener: SessionListener,
    { group: suffix, installation = {}, ...wishes }: JoinOptions = {},
  ): Promise<Membership> {
    const { broker, sessionTimeoutMs } = this.#options
    const groupId = suffix ? `${this.#options.groupId}-${suffix}` : this.#options.groupId
    for (const topic of topics) if (!broker.partitions(topic)) throw new Error(`there is no topic ${topic}`)
    const ownership = new Ownership({ ...this.#options, ...wishes, groupId, listener })
    const group = broker.group(groupId)
    const announcement = { host: hostname(), installation }
    const transport = this.#transport(group, { sessionTimeoutMs, topics, process: ownership.tag, announcement })
    const member = new GroupMember({ ...this.#options, transport, topics, events: ownership, partitionsAgeMs })
    const { commit, acquire } = this.#commits(groupId, group, member, ownership.tag)
    const readings = new OwnedReadings(this.#fetcher, ownership)
    const close = () => void member.close()
    await ownership.attach(
      {
        partition: tp => ({
          ...readings.cursor(tp),
          acquire: () => acquire(tp),
          offsetAt: timestamp => this.#atBroker(`look up ${placeName(tp)}`, () => broker.offsetAt(tp, timestamp)),
        }),
        commit,
        history: topic =>
          this.#atBroker(`look up ${topic}`, () => {
            const tps = allPartitions(topic, broker.partitions(topic)!)
            return tps.map(tp => broker.committed(groupId, tp) !== null)
          }),
        ends: tp =>
          this.#atBroker(`look up ${tp.topic}`, () => ({ ...tp, low: broker.start(tp), high: broker.end(tp) })),
        hasMembers: () => this.#atBroker('look up the group', () => group.hasMembers),
        member,
        unread: () => [],
        close: () => readings.close(),
      },
      topics,
    )
    this.#closers.add(close)
    try {
      await member.join()
    } catch (error) {
      if (!isTaken(error)) throw error
      this.#closers.delete(close)
      readings.close()
      throw new BusUnavailable(error.message, { cause: error })
    }
    return ownership
  }

  #transport(group: MemoryGroup, joiner: Omit<Joiner, 'owned'>): GroupTransport {
    const { broker } = this.#options
    return {
      join: (memberId, owned, named) => {
        const tell = (id: string) => {
          this.#members.set(id, group)
          named(id)
        }
        return this.#atBroker('join', () => group.join(memberId, { ...joiner, owned }, tell))
      },
      sync: (of, assignment) => this.#atBroker('sync', () => group.sync(of, assignment)),
      heartbeat: of => this.#atBroker('heartbeat', () => group.heartbeat(of)),
      leave: memberId => this.#atBroker('leave', () => group.leave(memberId)),
      partitions: async topics => new Map(topics.map(topic => [topic, broker.partitions(topic) ?? 0])),
    }
  }

  /** One transactional producer for all partitions of a process, like the Kafka adapter's. */
  #commits(groupId: string, group: MemoryGroup, member: GroupMember, tag: string) {
    const { broker, clock } = this.#options
    const id = `${groupId}-process/${tag}`
    const turns = new ProducerTurns(() => this.#atBroker(`acquire ${id}`, () => ({ id, epoch: broker.fence(id) })))
    const transact = async (producer: ProducerEpoch, parts: readonly Part[], of: MemberOf) => {
      const name = parts.map(placeName).join(' ')
      const wanted = parts.flatMap(part => part.records)
      await this.#limits.produce(wanted, records =>
        this.#atBroker(`commit ${name}`, () => {
          group.checkCommit(of)
          broker.write(producer, { groupId, records, offsets: parts }, clock.now())
        }),
      )
      await this.#atBroker(`commit end ${name}`, () => broker.endTransaction(producer))
    }
    return {
      commit: (parts: readonly Part[]): Promise<void> => {
        const { synced } = member // a decision belongs to its generation
        return turns.take(producer => transact(producer, parts, synced))
      },
      /** Reads the committed offset, which no transaction can change any more. */
      acquire: async (tp: TopicPartition): Promise<Acquired> => {
        const { synced } = member
        await turns.take(async () => {}) // a commit in flight may belong to the partition's previous session
        return this.#atBroker(`acquire ${placeName(tp)}`, () => {
          group.checkCommit(synced)
          broker.abort(groupId, tp)
          return { committed: broker.committed(groupId, tp), low: broker.start(tp), high: broker.end(tp) }
        })
      },
    }
  }

  async follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower> {
    const start = await this.#locate(tp, from)
    return new PartitionFollower({
      ...this.#options,
      ...{ fetcher: this.#fetcher, tp, start, onRecords, closing: this.closing },
      end: () => this.#atBroker(`end of ${placeName(tp)}`, broker => broker.end(tp)),
    })
  }

  #locate(tp: TopicPartition, from: From): Promise<number> {
    return this.#atBroker(`look up ${placeName(tp)}`, broker => {
      if (from === 'latest') return broker.end(tp)
      if (typeof from !== 'object') return broker.offsetAt(tp, from === 'earliest' ? 0 : from)
      const start = broker.start(tp)
      return from.offset >= start && from.offset <= broker.end(tp) ? from.offset : start
    })
  }

  async readInGroup(topics: readonly string[], { groupId, ...options }: GroupReadOptions): Promise<GroupReading> {
    const { broker, sessionTimeoutMs } = this.#options
    const group = broker.group(groupId)
    const reader = await GroupReading.join({
      ...this.#options,
      ...options,
      topics,
      partitionsAgeMs,
      follow: this.follow.bind(this),
      transport: this.#transport(group, { sessionTimeoutMs, topics, process: null }),
      committed: async tps =>
        this.#atBroker('look up the group', () => tps.map(tp => broker.committed(groupId, tp)?.offset ?? null)),
      commit: (member, offsets) =>
        this.#atBroker('commit the progress', () => {
          group.checkCommit(member)
          for (const { offset, ...tp } of offsets) broker.resetOffset(groupId, tp, offset)
        }),
    })
    this.#closers.add(() => reader.close())
    return reader
  }

  read(topics: readonly string[], from: From, onRecords: RecordsHandler): Promise<Reader> {
    return readTopics(this, topics, from, onRecords)
  }

  async search(
    tp: TopicPartition,
    { from, until = Number.POSITIVE_INFINITY, needles, take }: Query,
  ): Promise<Searched> {
    const begin = await this.#locate(tp, from)
    const { records, next, start } = await this.#atBroker(`look through ${placeName(tp)}`, broker => {
      const end = broker.offsetAt(tp, until)
      const { records } = broker.read(tp, begin, Number.POSITIVE_INFINITY)
      const before = records.filter(({ offset }) => offset < end)
      return { records: before, next: Math.max(begin, end), start: broker.start(tp) }
    })
    const found = records.filter(matcherOf(needles))
    if (found.length > 0) await take(found)
    return { ...tp, from: begin, until: next, start, since: records[0]?.timestamp ?? null, unreadable: 0 }
  }

  recordsAt(tp: TopicPartition, offsets: readonly number[]): ReturnType<Bus['recordsAt']> {
    return this.#atBroker(`look up ${placeName(tp)}`, broker => {
      const wanted = new Set(offsets)
      const { records, next } = broker.read(tp, offsets[0] ?? 0, Number.POSITIVE_INFINITY)
      return { records: records.filter(({ offset }) => wanted.has(offset)), readable: next }
    })
  }

  async progress(groupId: string, tps: readonly TopicPartition[]): ReturnType<Bus['progress']> {
    return this.#atBroker('look up the group', broker => tps.map(tp => broker.committed(groupId, tp)))
  }

  async partitions(topics: readonly string[]): Promise<Map<string, number>> {
    const { broker } = this.#options
    return new Map(topics.filter(topic => broker.partitions(topic)).map(topic => [topic, broker.partitions(topic)!]))
  }

  async lookAt(topic: string): Promise<TopicLook | null> {
    const { broker } = this.#options
    const partitions = broker.partitions(topic)
    return partitions === undefined ? null : { id: broker.topicId(topic), partitions, leaderless: [] }
  }

  async firstTimes(tps: readonly TopicPartition[]): Promise<(number | null)[]> {
    return tps.map(tp => this.#options.broker.read(tp, 0, 1).records[0]?.timestamp ?? null)
  }

  async cleanup(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.#options.broker.cleanup)
  }

  blocked(): [] {
    return [] // no transaction stays open for long
  }

  /** Simulates a crash of this process: nothing more reaches the broker, and the group loses its members. */
  async crash(): Promise<void> {
    this.#crashed = true
    for (const [id, group] of this.#members) group.leave(id)
    void this.close()
  }

  async close(): Promise<void> {
    this.#closing.abort(busIsClosed())
    await Promise.all([...this.#closers].map(close => close()))
    this.#closers.clear()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #atBroker<T>(name: string, step: (broker: MemoryBroker) => T | Promise<T>): Promise<T> {
    await this.#hop(name, 'there')
    if (this.#crashed) return new Promise<never>(() => {})
    const refusable = new Promise<T>(resolve => resolve(step(this.#options.broker)))
    const [outcome] = await Promise.allSettled([refusable])
    await this.#hop(name, 'back', outcome)
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }
}
