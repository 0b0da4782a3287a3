import type { Kafka } from 'kafkajs'
import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { HandOver } from '../hand-over.ts'
import type { Follower, From, OnRecords, TopicPartition } from '../port.ts'
import { type OpenCluster, openCluster } from './cluster.ts'
import { type Fetched, fetchCommitted, type Position } from './fetch.ts'
import type { InternalCluster } from './internals.ts'
import { brokerOf, endOf, leaderOf, offsetAt, stableEndOf } from './offsets.ts'

export interface LogReaderOptions {
  kafka: Kafka
  clock: Clock
  telemetry: Telemetry
}

/** One follower of a partition. */
interface Followed extends Position {
  name: string
  handOver: HandOver
  /** asked: its leader is. busy: its records are being worked on. resting: in trouble, and waiting to try again. */
  state: 'ready' | 'asked' | 'busy' | 'resting'
  /** Monotonic milliseconds of the last records. */
  busySince: number
  failures: number
  /** What was told of the trouble it is in. */
  told: Set<string>
}

/** A partition that is newly followed, or ready again, waits so long at most for the fetch under way. */
const longWaitMs = 250
/** While some may be ready soon. */
const shortWaitMs = 10
const bytesPerPartition = 256 * 1024
const firstRestMs = 50
const longestRestMs = 2000
/** A new topic is not known to all brokers at once. */
const startAttempts = 6

const hints: Record<string, string> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'Create the topic, or correct its name or the number of the partition.',
  INVALID_TOPIC_EXCEPTION: 'Correct its name.',
  TOPIC_AUTHORIZATION_FAILED: 'Grant this client the rights Describe and Read on the topic.',
}

const closedText = 'the bus is closed'

const typeOf = (error: unknown) => (error as { type?: string }).type ?? ''
const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/**
 * Reads partitions without a group. All that are followed and led by one broker share its next fetch, and each broker
 * has one fetch at a time: on its connection a second one would queue behind the first.
 */
export class LogReader {
  readonly #options: LogReaderOptions
  /** Those that were fetched longest ago come first. */
  readonly #followed = new Set<Followed>()
  /** Leaders with a fetch under way. */
  readonly #asked = new Set<number>()
  /** What has to end before the connections may be closed. */
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = Promise.withResolvers<void>()
  #opening: Promise<OpenCluster> | null = null
  #scheduled = false
  #closed = false

  constructor(options: LogReaderOptions) {
    this.#options = options
  }

  async follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower> {
    const { cluster } = await this.#open()
    const start = await this.#run(this.#start(cluster, tp, from))
    if (this.#closed) throw new Error(closedText)
    const name = `${tp.topic}/${tp.partition}`
    const handOver = new HandOver({ ...this.#options, name, start, onRecords })
    const followed: Followed = {
      tp,
      name,
      offset: start,
      handOver,
      state: 'ready',
      busySince: Number.NEGATIVE_INFINITY,
      failures: 0,
      told: new Set(),
    }
    this.#followed.add(followed)
    this.#schedule(cluster)
    return {
      caughtUp: behindOpen => this.#run(this.#caughtUp(cluster, followed, behindOpen ? endOf : stableEndOf)),
      close: async () => {
        this.#followed.delete(followed)
        handOver.close()
      },
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#closing.resolve()
    for (const { handOver } of this.#followed) handOver.close()
    this.#followed.clear()
    const opened = await this.#opening?.catch(() => null)
    await Promise.allSettled(this.#running)
    await opened?.close()
  }

  #open(): Promise<OpenCluster> {
    if (this.#closed) throw new Error(closedText)
    this.#opening ??= openCluster(this.#options.kafka).catch(error => {
      this.#opening = null
      throw error
    })
    return this.#opening
  }

  #run<T>(work: Promise<T>): Promise<T> {
    const ended = () => this.#running.delete(work)
    this.#running.add(work)
    work.then(ended, ended)
    return work
  }

  /** Where to begin. Fetches once, so that a missing right shows here. */
  async #start(cluster: InternalCluster, tp: TopicPartition, from: From): Promise<number> {
    const name = `${tp.topic}/${tp.partition}`
    const told = new Set<string>()
    for (let attempt = 1; !this.#closed; attempt++) {
      try {
        await cluster.addMultipleTargetTopics([tp.topic])
        const position = { tp, offset: await offsetAt(cluster, tp, from) }
        const broker = await brokerOf(cluster, tp)
        const answers = await fetchCommitted(broker, [position], { waitMs: 0, bytesPerPartition: 1 })
        const answer = answers.get(position)
        if (answer && !answer.ok) throw answer.error
        return position.offset
      } catch (error) {
        const hint = hints[typeOf(error)]
        if (hint && attempt >= startAttempts) {
          throw new Error(`${name} cannot be read: ${textOf(error)}. ${hint}`, { cause: error })
        }
        if (!hint) this.#tell([{ name, told }], error)
        await this.#rest(cluster, attempt)
      }
    }
    throw new Error(closedText)
  }

  async #caughtUp(cluster: InternalCluster, followed: Followed, end: typeof endOf): Promise<void> {
    for (let attempt = 1; !followed.handOver.closed; attempt++) {
      try {
        return await followed.handOver.reached(await end(cluster, followed.tp))
      } catch (error) {
        this.#tell([followed], error)
        await this.#rest(cluster, attempt)
      }
    }
  }

  /** After this turn of the event loop, so that handlers that are done at once are in for the next fetch. */
  #schedule(cluster: InternalCluster): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#closed) this.#fetchAll(cluster)
    })
  }

  #fetchAll(cluster: InternalCluster): void {
    const ready = new Map<number, Followed[]>()
    for (const followed of this.#followed) {
      if (followed.state !== 'ready') continue
      try {
        const leader = leaderOf(cluster, followed.tp)
        if (!ready.has(leader)) ready.set(leader, [])
        ready.get(leader)!.push(followed)
      } catch (error) {
        void this.#run(this.#recover(cluster, [followed], error))
      }
    }
    for (const [leader, group] of ready) {
      if (!this.#asked.has(leader)) void this.#run(this.#fetch(cluster, leader, group))
    }
  }

  /** Followers of one partition share an answer if they are at one offset; the others wait for the next fetch. */
  async #fetch(cluster: InternalCluster, leader: number, ready: readonly Followed[]): Promise<void> {
    const shares = [...Map.groupBy(ready, ({ name }) => name).values()].map(group =>
      group.filter(({ offset }) => offset === group[0]!.offset),
    )
    const asked = shares.flat()
    for (const followed of asked) {
      followed.state = 'asked'
      this.#followed.delete(followed)
      this.#followed.add(followed)
    }
    this.#asked.add(leader)
    const waitMs = asked.length < ready.length ? 0 : this.#waitMs()
    try {
      const broker = await cluster.findBroker({ nodeId: leader })
      const positions = shares.map(([first]) => first!)
      const answers = await fetchCommitted(broker, positions, { waitMs, bytesPerPartition })
      for (const share of shares) this.#take(cluster, share, answers.get(share[0]!))
    } catch (error) {
      void this.#run(this.#recover(cluster, asked, error))
    }
    this.#asked.delete(leader)
    this.#schedule(cluster)
  }

  #waitMs(): number {
    const soon = this.#options.clock.monotonic() - longWaitMs
    const someAreReadySoon = [...this.#followed].some(({ state, busySince }) => state === 'busy' && busySince > soon)
    return someAreReadySoon ? shortWaitMs : longWaitMs
  }

  #take(cluster: InternalCluster, share: readonly Followed[], answer: Fetched | undefined): void {
    if (answer && !answer.ok) {
      void this.#run(this.#recover(cluster, share, answer.error))
      return
    }
    for (const followed of share) {
      followed.state = 'ready'
      if (!answer) continue
      followed.failures = 0
      followed.told.clear()
      followed.offset = answer.next
      const taken = followed.handOver.take(answer.records, answer.next)
      if (answer.records.length > 0) this.#untilTaken(cluster, followed, taken)
    }
  }

  #untilTaken(cluster: InternalCluster, followed: Followed, taken: Promise<void>): void {
    followed.state = 'busy'
    followed.busySince = this.#options.clock.monotonic()
    void taken.then(() => {
      followed.state = 'ready'
      this.#schedule(cluster)
    })
  }

  /** Lets them try again after a while; where a log was cut or made anew, from its beginning. */
  async #recover(cluster: InternalCluster, troubled: readonly Followed[], error: unknown): Promise<void> {
    for (const followed of troubled) {
      followed.state = 'resting'
      followed.failures++
    }
    this.#tell(troubled, error)
    await this.#rest(cluster, Math.max(...troubled.map(({ failures }) => failures)))
    for (const followed of troubled) {
      if (typeOf(error) === 'OFFSET_OUT_OF_RANGE') await this.#relocate(cluster, followed).catch(() => {}) // asked again
      followed.state = 'ready'
    }
    this.#schedule(cluster)
  }

  async #relocate(cluster: InternalCluster, followed: Followed): Promise<void> {
    const first = await offsetAt(cluster, followed.tp, 'earliest')
    const end = await offsetAt(cluster, followed.tp, 'latest')
    if (followed.offset >= first && followed.offset <= end) return
    followed.offset = first
    followed.handOver.moved(first, end)
  }

  async #rest(cluster: InternalCluster, failures: number): Promise<void> {
    const ms = Math.min(firstRestMs * 2 ** (failures - 1), longestRestMs)
    await Promise.race([sleep(this.#options.clock, ms), this.#closing.promise])
    if (!this.#closed) await cluster.refreshMetadata().catch(() => {}) // what it cannot find out, the next attempt shows
  }

  /** Of a trouble that lasts, once. */
  #tell(troubled: readonly Pick<Followed, 'name' | 'told'>[], error: unknown): void {
    const text = textOf(error)
    const untold = troubled.filter(({ told }) => !told.has(text))
    if (untold.length === 0) return
    for (const { told } of untold) told.add(text)
    const names = untold.map(({ name }) => name).join(', ')
    this.#options.telemetry.emit('bus.log', { level: 'warn', message: `cannot read ${names} now: ${text}` })
  }
}
