import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { HandOver } from '../hand-over.ts'
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
import type { GroupDriver, PartitionDriver } from '../session/driver.ts'
import { Ownership, type OwnershipOptions } from '../session/ownership.ts'
import type { MemoryBroker } from './broker.ts'
import { Cursor } from './cursor.ts'
import { MemoryGroup } from './group.ts'
import { MemoryMember } from './member.ts'

export interface MemoryBusOptions {
  broker: MemoryBroker
  groupId: string
  clock: Clock
  telemetry: Telemetry
  drainMs: number
  startFrom: OwnershipOptions['startFrom']
  /** Default 10 s. */
  sessionTimeoutMs?: number
  /** Most records in one fetch. Default 500. */
  fetchRecords?: number
  /** The network: passed before and after every step at the broker. Of a commit or an acquisition it may reject. */
  hop?: Hop
}

/**
 * @param step what is asked for, e.g. `commit commands/0`
 * @param answer what the broker answers, on the way back
 */
export type Hop = (step: string, way: 'there' | 'back', answer?: unknown) => Promise<void>

const groups = new WeakMap<MemoryBroker, Map<string, MemoryGroup>>()

function groupOf(broker: MemoryBroker, groupId: string): MemoryGroup {
  const ofBroker = groups.get(broker) ?? new Map<string, MemoryGroup>()
  groups.set(broker, ofBroker)
  const group =
    ofBroker.get(groupId) ??
    new MemoryGroup({ clock: broker.clock, partitions: topic => broker.partitions(topic) ?? 0 })
  ofBroker.set(groupId, group)
  return group
}

const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve))

/** The bus in this process: embedded default and simulation. Keeps every promise of the port but survival of the process. */
export class MemoryBus implements Bus {
  readonly #options: MemoryBusOptions
  readonly #hop: Hop
  readonly #closers = new Set<() => Promise<void> | void>()
  #crashed = false

  constructor(options: MemoryBusOptions) {
    this.#options = options
    this.#hop = options.hop ?? nextTurn
  }

  async publisher(): Promise<Publisher> {
    return {
      publish: records => this.#atBroker('publish', broker => broker.append(records, this.#options.clock.now())),
      close: async () => {},
    }
  }

  async join(
    topics: readonly string[],
    listener: SessionListener,
    { group: suffix, lookBack }: JoinOptions = {},
  ): Promise<Membership> {
    const { broker, clock, telemetry, drainMs, startFrom, sessionTimeoutMs = 10_000 } = this.#options
    const groupId = suffix ? `${this.#options.groupId}-${suffix}` : this.#options.groupId
    for (const topic of topics) if (!broker.partitions(topic)) throw new Error(`there is no topic ${topic}`)
    const ownership = new Ownership({ listener, telemetry, clock, drainMs, startFrom, lookBack })
    const group = groupOf(broker, groupId)
    const member = new MemoryMember({
      topics,
      group,
      events: ownership,
      clock,
      sessionTimeoutMs,
      atBroker: (name, step) => this.#atBroker(name, step),
    })
    const cursors = new Map<string, Cursor>()
    const driver: GroupDriver = {
      partition: tp => this.#partition(tp, groupId, cursors, ownership),
      knows: topic =>
        this.#atBroker(`look up ${topic}`, () => {
          const partitions = Array.from({ length: broker.partitions(topic)! }, (_, partition) => ({ topic, partition }))
          return partitions.some(tp => broker.committed(groupId, tp) !== null)
        }),
      totalPartitions: () => topics.reduce((sum, topic) => sum + broker.partitions(topic)!, 0),
      leaseUntil: () => member.leaseUntil,
      leave: () => member.leave(),
    }
    await ownership.attach(driver, topics)
    const close = () => {
      for (const cursor of cursors.values()) cursor.close()
      member.stop()
      if (this.#crashed) group.leave(member)
    }
    this.#closers.add(close)
    await member.join()
    return ownership
  }

  #partition(tp: TopicPartition, groupId: string, cursors: Map<string, Cursor>, ownership: Ownership): PartitionDriver {
    const { broker, clock } = this.#options
    const key = `${tp.topic}/${tp.partition}`
    const cursor =
      cursors.get(key) ??
      this.#cursor(tp, (fetchedOffset, { records, next }) => {
        const highWatermark = broker.end(tp)
        ownership.batch({ ...tp, fetchedOffset, records, nextOffset: next, highWatermark })
      })
    cursors.set(key, cursor)
    const id = `${groupId}-${tp.topic}-${tp.partition}`
    let epoch = 0
    return {
      acquire: () =>
        this.#atBroker(`acquire ${key}`, () => {
          epoch = broker.fence(id)
          return { committed: broker.committed(groupId, tp), low: 0, high: broker.end(tp) }
        }),
      commit: (records, offset, metadata) =>
        this.#atBroker(`commit ${key}`, () =>
          broker.commit({ id, epoch }, { id: groupId, tp, committed: { offset, metadata } }, records, clock.now()),
        ),
      seek: offset => cursor.seek(offset),
      pause: () => cursor.pause(),
      resume: () => cursor.resume(),
      release: async () => {},
    }
  }

  async follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower> {
    const { clock, telemetry } = this.#options
    const name = `${tp.topic}/${tp.partition}`
    const start = await this.#atBroker(`look up ${name}`, broker => {
      if (from === 'latest') return broker.end(tp)
      return broker.offsetAt(tp, from === 'earliest' ? 0 : from)
    })
    const handOver = new HandOver({ name, start, onRecords, clock, telemetry })
    const cursor = this.#cursor(tp, (_, { records, next }) => handOver.take(records, next))
    const close = () => {
      this.#closers.delete(close)
      cursor.close()
      handOver.close()
    }
    this.#closers.add(close)
    cursor.seek(start)
    cursor.resume()
    return {
      caughtUp: async () => handOver.reached(await this.#atBroker(`end of ${name}`, broker => broker.end(tp))),
      close: async () => close(),
    }
  }

  read(topics: readonly string[], from: From, onRecords: RecordsHandler): Promise<Reader> {
    return readTopics(this, topics, from, onRecords)
  }

  async createTopics(specs: readonly TopicSpec[]): Promise<void> {
    this.#options.broker.createTopics(specs)
  }

  async partitions(topics: readonly string[]): Promise<Map<string, number>> {
    const { broker } = this.#options
    return new Map(topics.filter(topic => broker.partitions(topic)).map(topic => [topic, broker.partitions(topic)!]))
  }

  async compacted(): Promise<string[]> {
    return []
  }

  /** This process dies here: nothing more reaches the broker, and the group finds out. */
  async crash(): Promise<void> {
    this.#crashed = true
    await this.close()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#closers].map(close => close()))
    this.#closers.clear()
  }

  #cursor(tp: TopicPartition, deliver: ConstructorParameters<typeof Cursor>[4]): Cursor {
    const { broker, fetchRecords = 500 } = this.#options
    const step = `fetch ${tp.topic}/${tp.partition}`
    return new Cursor(broker, tp, way => this.#hop(step, way), fetchRecords, deliver)
  }

  async #atBroker<T>(name: string, step: (broker: MemoryBroker) => T | Promise<T>): Promise<T> {
    await this.#hop(name, 'there')
    if (this.#crashed) return new Promise<never>(() => {})
    const answer = await step(this.#options.broker)
    await this.#hop(name, 'back', answer)
    return answer
  }
}
