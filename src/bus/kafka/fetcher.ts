import type { Kafka } from 'kafkajs'
import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { From, TopicPartition } from '../port.ts'
import type { LogEnds } from '../session/driver.ts'
import { type OpenCluster, openCluster } from './cluster.ts'
import { committedOffsets, type Progress } from './committed-offsets.ts'
import { type Fetched, fetchCommitted } from './fetch.ts'
import type { InternalCluster } from './internals.ts'
import { brokerOf, endOf, firstOffset, leaderOf, logEnds, offsetAt, stableEndOf } from './offsets.ts'
import { reachable } from './reachable.ts'
import { type Mark, noMark } from './record-batch.ts'

export interface FetcherOptions {
  kafka: Kafka
  clock: Clock
  telemetry: Telemetry
}

export type FetchedRecords = Extract<Fetched, { ok: true }>

/** One place in one partition that is read on from. */
export interface Reading {
  readonly tp: TopicPartition
  /** Where the next fetch begins. */
  offset: number
  paused: boolean
  /**
   * A promise that it answers holds this reading back until it resolves.
   * @param from the offset that the fetch began at
   */
  take(fetched: FetchedRecords, from: number): void | Promise<void>
  /** The log does not hold the offset: says where to go on. */
  cut(log: LogEnds): void
  /** The partition is not there now: when it comes back it may be another one of its name. */
  gone?(error: Error): void
}

/** asked: its leader is. busy: its records are being worked on. resting: in trouble, and waiting to try again. */
interface State {
  phase: 'ready' | 'asked' | 'busy' | 'resting'
  /** Monotonic milliseconds of the last records. */
  busySince: number
  failures: number
  /** What was told of the trouble it is in. */
  told: Set<string>
  mark: Mark
}

/** A partition that is newly read, or ready again, waits so long at most for the fetch under way. */
const longWaitMs = 200
/** While some may be ready soon. */
const shortWaitMs = 10
const bytesPerPartition = 256 * 1024
/**
 * Bytes of memory that records may take before they are taken in, shared by all that is read: each reading may hold what
 * one fetch brought. A window takes no more records than fit into the most that one may have.
 */
const roomInAll = 16 * 1024 * 1024
const roomAtMost = 4 * 1024 * 1024
const roomAtLeast = 128 * 1024
const firstRestMs = 50
const longestRestMs = 2000
/** A new topic is not known to all brokers at once. */
const startAttempts = 6

const unknownPartition = 'UNKNOWN_TOPIC_OR_PARTITION'
const hints: Record<string, string> = {
  [unknownPartition]: 'Create the topic, or correct its name or the number of the partition.',
  INVALID_TOPIC_EXCEPTION: 'Correct its name.',
  TOPIC_AUTHORIZATION_FAILED: 'Grant this client the rights Describe and Read on the topic.',
}

const closedText = 'the bus is closed'

const nameOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`
const typeOf = (error: unknown) => (error as { type?: string }).type ?? ''
const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/**
 * Fetches for any number of readings. All that are led by one broker share its next fetch, and each broker has one fetch
 * at a time: on its connection a second one would queue behind the first.
 */
export class Fetcher {
  readonly #options: FetcherOptions
  /** Those that were fetched longest ago come first, and of one fetch those that got nothing. */
  readonly #readings = new Map<Reading, State>()
  /** Leaders with a fetch under way. */
  readonly #asked = new Set<number>()
  /** What has to end before the connections may be closed. */
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = Promise.withResolvers<void>()
  #opening: Promise<OpenCluster> | null = null
  #cluster: InternalCluster | null = null
  #scheduled = false
  #closed = false

  constructor(options: FetcherOptions) {
    this.#options = options
  }

  /**
   * Where to begin. Fetches once, so that a missing right shows here; brokers that are away are waited for.
   * @throws Error when there is no such partition, or no right to read it
   */
  async locate(tp: TopicPartition, from: From): Promise<number> {
    return this.#run(
      this.#asking([nameOf(tp)], async cluster => {
        await cluster.addMultipleTargetTopics([tp.topic])
        const position = { tp, offset: await offsetAt(cluster, tp, from) }
        const broker = await brokerOf(cluster, tp)
        const answers = await fetchCommitted(broker, [position], {
          waitMs: 0,
          bytesPerPartition: 1,
          roomPerPartition: 1,
        })
        const answer = answers.get(position)
        if (answer && !answer.ok) throw answer.error
        return position.offset
      }),
    )
  }

  /** The end of what may be read now, or of what is written; brokers that are away are waited for. */
  async end(tp: TopicPartition, behindOpen?: 'behind open transactions'): Promise<number> {
    const end = behindOpen ? endOf : stableEndOf
    return this.#run(this.#asking([nameOf(tp)], cluster => end(cluster, tp)))
  }

  /** Asks once. @throws Error as the broker answers */
  async ends(tp: TopicPartition): Promise<LogEnds> {
    const { cluster } = await this.#open()
    await cluster.addMultipleTargetTopics([tp.topic])
    return this.#afresh(cluster, () => logEnds(cluster, tp))
  }

  /** The group's progress as of a moment after this call. Asks once. @throws Error as the coordinator answers */
  async committed(groupId: string, tps: readonly TopicPartition[]): Promise<Progress[]> {
    const { cluster } = await this.#open()
    await cluster.addMultipleTargetTopics(tps.map(({ topic }) => topic)) // finds the brokers, if none is known yet
    try {
      return await committedOffsets(cluster, groupId, tps)
    } catch (error) {
      await cluster.refreshMetadata().catch(() => {}) // for the next time: who asks again has to begin before this
      throw error
    }
  }

  /** The first offset of a record of at least this time (milliseconds since 1970), or the log's end. Asks once. */
  async offsetAt(tp: TopicPartition, timestamp: number): Promise<number> {
    const { cluster } = await this.#open()
    return this.#afresh(cluster, () => firstOffset(cluster, tp, timestamp))
  }

  /** Connects. @throws BusUnavailable */
  async connect(): Promise<void> {
    await this.#open()
  }

  /** Begins to read; a reading that changed its offset or its pause is told again. */
  read(reading: Reading): void {
    if (this.#closed) return
    if (!this.#readings.has(reading)) {
      const busySince = Number.NEGATIVE_INFINITY
      this.#readings.set(reading, { phase: 'ready', busySince, failures: 0, told: new Set(), mark: noMark() })
    }
    this.#schedule()
  }

  forget(reading: Reading): void {
    this.#readings.delete(reading)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#closing.resolve()
    this.#readings.clear()
    const opened = await this.#opening?.catch(() => null)
    await Promise.allSettled(this.#running)
    await opened?.close()
  }

  #open(): Promise<OpenCluster> {
    if (this.#closed) throw new Error(closedText)
    this.#opening ??= reachable(openCluster(this.#options.kafka)).then(
      opened => {
        this.#cluster = opened.cluster
        return opened
      },
      error => {
        this.#opening = null
        throw error
      },
    )
    return this.#opening
  }

  #run<T>(work: Promise<T>): Promise<T> {
    const ended = () => this.#running.delete(work)
    this.#running.add(work)
    work.then(ended, ended)
    return work
  }

  /** Asks until there is an answer, or a refusal that lasts. */
  async #asking<T>(names: string[], ask: (cluster: InternalCluster) => Promise<T>): Promise<T> {
    const { cluster } = await this.#open()
    const told = new Set<string>()
    for (let attempt = 1; !this.#closed; attempt++) {
      try {
        return await ask(cluster)
      } catch (error) {
        const hint = hints[typeOf(error)]
        if (hint && attempt >= startAttempts) {
          throw new Error(`${names.join()} cannot be read: ${textOf(error)}. ${hint}`, { cause: error })
        }
        if (!hint) this.#tell([{ name: names.join(), told }], error)
        await this.#rest(cluster, attempt)
      }
    }
    throw new Error(closedText)
  }

  /** Metadata of before may not know a partition that was added, or a leader that has moved. */
  async #afresh<T>(cluster: InternalCluster, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch {
      await cluster.refreshMetadata()
      return ask()
    }
  }

  /** After this turn of the event loop, so that handlers that are done at once are in for the next fetch. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#closed) return
      if (this.#cluster) this.#fetchAll(this.#cluster)
      else
        void this.#run(
          this.#open().then(
            () => this.#schedule(),
            () => this.#restThenSchedule(),
          ),
        )
    })
  }

  async #restThenSchedule(): Promise<void> {
    await Promise.race([sleep(this.#options.clock, longestRestMs), this.#closing.promise])
    this.#schedule()
  }

  #fetchAll(cluster: InternalCluster): void {
    const ready = new Map<number, Reading[]>()
    for (const [reading, { phase }] of this.#readings) {
      if (phase !== 'ready' || reading.paused) continue
      try {
        const leader = leaderOf(cluster, reading.tp)
        if (!ready.has(leader)) ready.set(leader, [])
        ready.get(leader)!.push(reading)
      } catch (error) {
        void this.#run(this.#recover(cluster, [reading], error))
      }
    }
    for (const [leader, group] of ready) {
      if (!this.#asked.has(leader)) void this.#run(this.#fetch(cluster, leader, group))
    }
  }

  /** Readings of one partition share an answer if they are at one offset; the others wait for the next fetch. */
  async #fetch(cluster: InternalCluster, leader: number, ready: readonly Reading[]): Promise<void> {
    const shares = [...Map.groupBy(ready, ({ tp }) => nameOf(tp)).values()].map(group =>
      group.filter(({ offset }) => offset === group[0]!.offset),
    )
    const asked = shares.flat()
    for (const reading of asked) {
      const state = this.#readings.get(reading)!
      state.phase = 'asked'
      this.#toTheEnd(reading, state)
    }
    this.#asked.add(leader)
    const waitMs = asked.length < ready.length ? 0 : this.#waitMs()
    const positions = shares.map(([first]) => {
      const { tp, offset } = first!
      return { tp, offset, mark: this.#readings.get(first!)!.mark }
    })
    try {
      const broker = await cluster.findBroker({ nodeId: leader })
      const roomPerPartition = Math.max(roomAtLeast, Math.min(roomAtMost, roomInAll / this.#readings.size))
      const answers = await fetchCommitted(broker, positions, { waitMs, bytesPerPartition, roomPerPartition })
      for (const [i, share] of shares.entries()) {
        this.#take(cluster, share, positions[i]!.offset, answers.get(positions[i]!))
      }
    } catch (error) {
      void this.#run(this.#recover(cluster, asked, error))
    }
    this.#asked.delete(leader)
    this.#schedule()
  }

  #waitMs(): number {
    const soon = this.#options.clock.monotonic() - longWaitMs
    const someAreReadySoon = [...this.#readings.values()].some(
      ({ phase, busySince }) => phase === 'busy' && busySince > soon,
    )
    return someAreReadySoon ? shortWaitMs : longWaitMs
  }

  #take(cluster: InternalCluster, share: readonly Reading[], from: number, answer: Fetched | undefined): void {
    if (answer && !answer.ok) {
      void this.#run(this.#recover(cluster, share, answer.error))
      return
    }
    for (const reading of share) {
      const state = this.#readings.get(reading)
      if (!state) continue
      state.phase = 'ready'
      if (!answer || reading.offset !== from) continue // it was moved meanwhile
      state.failures = 0
      state.told.clear()
      if (answer.next > from) this.#toTheEnd(reading, state)
      reading.offset = answer.next
      const taken = reading.take(answer, from)
      if (taken && answer.records.length > 0) this.#untilTaken(state, taken)
    }
  }

  /** A broker fills its answer in the order of the request, so the first places go round. */
  #toTheEnd(reading: Reading, state: State): void {
    this.#readings.delete(reading)
    this.#readings.set(reading, state)
  }

  #untilTaken(state: State, taken: Promise<void>): void {
    state.phase = 'busy'
    state.busySince = this.#options.clock.monotonic()
    void taken.then(() => {
      state.phase = 'ready'
      this.#schedule()
    })
  }

  /** Lets them try again after a while; where a log was cut or made anew, from where they say then. */
  async #recover(cluster: InternalCluster, troubled: readonly Reading[], error: unknown): Promise<void> {
    const states = troubled.flatMap(reading => this.#readings.get(reading) ?? [])
    for (const state of states) {
      state.phase = 'resting'
      state.failures++
    }
    if (typeOf(error) === unknownPartition) for (const reading of troubled) reading.gone?.(error as Error)
    this.#tell(
      troubled.map((reading, i) => ({ name: nameOf(reading.tp), told: states[i]?.told ?? new Set() })),
      error,
    )
    await this.#rest(cluster, Math.max(1, ...states.map(({ failures }) => failures)))
    for (const [i, reading] of troubled.entries()) {
      if (typeOf(error) === 'OFFSET_OUT_OF_RANGE') await this.#relocate(cluster, reading).catch(() => {}) // asked again
      const state = states[i]
      if (state) state.phase = 'ready'
    }
    this.#schedule()
  }

  async #relocate(cluster: InternalCluster, reading: Reading): Promise<void> {
    const { offset } = reading
    const ends = await logEnds(cluster, reading.tp)
    if (!this.#readings.has(reading) || reading.offset !== offset) return
    if (offset < ends.low || offset > ends.high) reading.cut(ends)
  }

  async #rest(cluster: InternalCluster, failures: number): Promise<void> {
    const ms = Math.min(firstRestMs * 2 ** (failures - 1), longestRestMs)
    await Promise.race([sleep(this.#options.clock, ms), this.#closing.promise])
    if (!this.#closed) await cluster.refreshMetadata().catch(() => {}) // what it cannot find out, the next attempt shows
  }

  /** Logs a lasting trouble once for each partition. */
  #tell(troubled: readonly { name: string; told: Set<string> }[], error: unknown): void {
    const text = textOf(error)
    const untold = troubled.filter(({ told }) => !told.has(text))
    if (untold.length === 0) return
    for (const { told } of untold) told.add(text)
    const names = untold.map(({ name }) => name).join(', ')
    this.#options.telemetry.emit('bus.log', { level: 'warn', message: `cannot read ${names} now: ${text}` })
  }
}
