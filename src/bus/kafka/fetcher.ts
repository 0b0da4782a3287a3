import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { type Mark, noMark } from '../batches/record-batch.ts'
import type { TopicPartition } from '../port.ts'
import type { LogEnds } from '../session/driver.ts'
import type { Brokers } from '../wire/brokers.ts'
import { type FetchRequest, fetchRecords } from '../wire/fetch-api.ts'
import { FetchSession } from '../wire/fetch-session.ts'
import { type Fetched, fetchCommitted } from './fetch.ts'
import { logEnds } from './offsets.ts'
import { restMs, textOf, typeOf, unknownPartition } from './reading-trouble.ts'

export interface FetcherOptions {
  brokers: Brokers
  clock: Clock
  telemetry: Telemetry
  /** Where this client is, to read from replicas that are near; undefined: from leaders. */
  rack?: string | undefined
}

export type FetchedRecords = Extract<Fetched, { ok: true }>

/** One place in one partition that is read on from. */
export interface Reading {
  readonly tp: TopicPartition
  /** Where the next fetch begins. */
  offset: number
  /** Whose fetches it takes: what was asked for in an earlier life it does not, be it from the same place. */
  life: number
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

/** asked: a broker is. busy: its records are being worked on. resting: in trouble, and waiting to try again. */
interface State {
  phase: 'ready' | 'asked' | 'busy' | 'resting'
  /** Of the reading, when it was asked for. */
  life: number
  /** Whether it was told in that life where its log ends. */
  isTold: boolean
  /** Who is read from until when, in monotonic milliseconds. */
  source: { node: number; until: number; isReplica: boolean } | null
  /** Until when it is read from leaders alone. */
  leadersUntil: number
  /** Monotonic milliseconds of the last records. */
  busySince: number
  failures: number
  /** The last failure, and since when there were no others, in monotonic milliseconds. */
  trouble: { text: string; since: number } | null
  /** What was told of the trouble it is in. */
  told: Set<string>
  mark: Mark
}

/** A leader that is elected takes less. */
const lastingMs = 3_000
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
/** A broker that leads no more may go on answering as a replica. */
const leaderAgeMs = 5_000
/** How long a nearer replica is read from, or one that failed is not. */
const replicaAgeMs = 60_000

const nameOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`

/**
 * Fetches for any number of readings. All that are read from one broker share its next fetch, and each broker has one
 * fetch at a time: on its connection a second one would queue behind the first.
 */
export class Fetcher {
  readonly #options: FetcherOptions
  /** Those that were fetched longest ago come first, and of one fetch those that got nothing. */
  readonly #readings = new Map<Reading, State>()
  /** By node. */
  readonly #sessions = new Map<number, FetchSession>()
  /** Nodes with a fetch under way. */
  readonly #asked = new Set<number>()
  /** What has to end before the connections may be closed. */
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = Promise.withResolvers<void>()
  #scheduled = false
  #closed = false

  constructor(options: FetcherOptions) {
    this.#options = options
  }

  /** Begins to read; a reading that changed its offset or its pause is told again. */
  read(reading: Reading): void {
    if (this.#closed) return
    if (!this.#readings.has(reading)) this.#readings.set(reading, newState())
    this.#schedule()
  }

  forget(reading: Reading): void {
    this.#readings.delete(reading)
  }

  /** Why it has not been read for some seconds; null: it has, or it rests. */
  troubleOf(reading: Reading): string | null {
    const trouble = this.#readings.get(reading)?.trouble
    if (!trouble || reading.paused) return null
    return this.#options.clock.monotonic() - trouble.since >= lastingMs ? trouble.text : null
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#closing.resolve()
    this.#readings.clear()
    await Promise.allSettled(this.#running)
  }

  #run(work: Promise<unknown>): void {
    const ended = () => void this.#running.delete(work)
    this.#running.add(work)
    work.then(ended, ended)
  }

  /** After this turn of the event loop, so that handlers that are done at once are in for the next fetch. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#closed) this.#fetchAll()
    })
  }

  #fetchAll(): void {
    const now = this.#options.clock.monotonic()
    const ready = new Map<number, Reading[]>()
    for (const [reading, state] of this.#readings) {
      if (state.phase !== 'ready' || reading.paused) continue
      if (!state.source || state.source.until < now) {
        this.#run(this.#findLeader(reading, state))
        continue
      }
      const { node } = state.source
      if (!ready.has(node)) ready.set(node, [])
      ready.get(node)!.push(reading)
    }
    for (const [node, group] of ready) {
      if (!this.#asked.has(node)) this.#run(this.#fetch(node, group))
    }
  }

  async #findLeader(reading: Reading, state: State): Promise<void> {
    const { brokers, clock } = this.#options
    state.phase = 'asked'
    try {
      const node = await brokers.leader(reading.tp)
      state.source = { node, until: clock.monotonic() + leaderAgeMs, isReplica: false }
      state.phase = 'ready'
      this.#schedule()
    } catch (error) {
      await this.#recover([reading], error)
    }
  }

  /** Readings of one partition share an answer if they are at one offset; the others wait for the next fetch. */
  async #fetch(node: number, ready: readonly Reading[]): Promise<void> {
    const shares = [...Map.groupBy(ready, ({ tp }) => nameOf(tp)).values()].map(group =>
      group.filter(({ offset }) => offset === group[0]!.offset),
    )
    const asked = shares.flat()
    for (const reading of asked) {
      const state = this.#readings.get(reading)!
      state.phase = 'asked'
      if (state.life !== reading.life) state.isTold = false
      state.life = reading.life
      this.#toTheEnd(reading, state)
    }
    this.#asked.add(node)
    const session = this.#sessionWith(node)
    const alone = this.#asking(node)
    const limits = { ...this.#limits(asked), alone, waitMs: asked.length < ready.length ? 0 : this.#waitMs() }
    const positions = shares.map(([first]) => {
      const { tp, offset } = first!
      return { tp, offset, mark: this.#readings.get(first!)!.mark }
    })
    try {
      const answers = await fetchCommitted(request => session.fetch(request), positions, limits)
      for (const [i, share] of shares.entries()) {
        const { tp, offset } = positions[i]!
        this.#take(share, offset, answers.get(positions[i]!), session.highWatermark(tp))
      }
    } catch (error) {
      this.#run(this.#recover(asked, error))
    }
    this.#asked.delete(node)
    this.#schedule()
  }

  #asking(node: number) {
    return (request: FetchRequest) => this.#options.brokers.ask({ node }, fetchRecords, request, { lane: 'fetch' })
  }

  #sessionWith(node: number): FetchSession {
    const session = this.#sessions.get(node) ?? new FetchSession(this.#asking(node))
    this.#sessions.set(node, session)
    return session
  }

  /** Who names its rack may be sent to a replica in place of an answer. */
  #limits(asked: readonly Reading[]) {
    const { clock, rack = '' } = this.#options
    const now = clock.monotonic()
    const leadersOnly = asked.some(reading => (this.#readings.get(reading)?.leadersUntil ?? 0) > now)
    const roomPerPartition = Math.max(roomAtLeast, Math.min(roomAtMost, roomInAll / this.#readings.size))
    return { bytesPerPartition, roomPerPartition, rack: leadersOnly ? '' : rack }
  }

  #waitMs(): number {
    const soon = this.#options.clock.monotonic() - longWaitMs
    const someAreReadySoon = [...this.#readings.values()].some(
      ({ phase, busySince }) => phase === 'busy' && busySince > soon,
    )
    return someAreReadySoon ? shortWaitMs : longWaitMs
  }

  /** @param fetched missing: there is nothing new */
  #take(share: readonly Reading[], from: number, fetched: Fetched | undefined, highWatermark: number): void {
    if (fetched && !fetched.ok) {
      this.#run(this.#recover(share, fetched.error))
      return
    }
    for (const reading of share) {
      const state = this.#readings.get(reading)
      if (!state) continue
      state.phase = 'ready'
      if (reading.offset !== from || reading.life !== state.life) continue // it was moved meanwhile
      state.failures = 0
      state.trouble = null
      state.told.clear()
      if (!fetched && state.isTold) continue
      state.isTold = true
      const answer = fetched ?? { records: [], next: from, highWatermark, preferredReplica: -1, ok: true }
      if (answer.preferredReplica >= 0) this.#readFrom(answer.preferredReplica, state)
      if (answer.next > from) this.#toTheEnd(reading, state)
      reading.offset = answer.next
      const taken = reading.take(answer, from)
      if (taken && answer.records.length > 0) this.#untilTaken(state, taken)
    }
  }

  #readFrom(replica: number, state: State): void {
    state.source = { node: replica, until: this.#options.clock.monotonic() + replicaAgeMs, isReplica: true }
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

  /** What a replica cannot answer its leader can; whom the leader cannot answer either rests. */
  async #recover(troubled: readonly Reading[], error: unknown): Promise<void> {
    const still = troubled.filter(reading => this.#readings.has(reading))
    const ofReplicas = still.filter(reading => this.#readings.get(reading)!.source?.isReplica)
    const ofLeaders = still.filter(reading => !ofReplicas.includes(reading))
    for (const reading of ofReplicas) this.#leaveReplica(this.#readings.get(reading)!)
    if (ofReplicas.length > 0) this.#schedule()
    if (ofLeaders.length > 0) await this.#recoverFromLeader(ofLeaders, error)
  }

  #leaveReplica(state: State): void {
    state.source = null
    state.leadersUntil = this.#options.clock.monotonic() + replicaAgeMs
    state.phase = 'ready'
  }

  /** Lets them try again after a while; where a log was cut or made anew, from where they say then. */
  async #recoverFromLeader(troubled: readonly Reading[], error: unknown): Promise<void> {
    const states = troubled.map(reading => this.#readings.get(reading)!)
    for (const state of states) {
      state.phase = 'resting'
      state.source = null
      state.failures++
      state.trouble = { text: textOf(error), since: state.trouble?.since ?? this.#options.clock.monotonic() }
    }
    if (typeOf(error) === unknownPartition) for (const reading of troubled) reading.gone?.(error as Error)
    this.#tell(
      troubled.map((reading, i) => ({ name: nameOf(reading.tp), told: states[i]!.told })),
      error,
    )
    await this.#rest(Math.max(1, ...states.map(({ failures }) => failures)))
    for (const [i, reading] of troubled.entries()) {
      if (typeOf(error) === 'OFFSET_OUT_OF_RANGE') await this.#relocate(reading).catch(() => {}) // asked again
      states[i]!.phase = 'ready'
    }
    this.#schedule()
  }

  async #relocate(reading: Reading): Promise<void> {
    const { offset } = reading
    const ends = await logEnds(this.#options.brokers, reading.tp)
    if (!this.#readings.has(reading) || reading.offset !== offset) return
    if (offset < ends.low || offset > ends.high) reading.cut(ends)
  }

  async #rest(failures: number): Promise<void> {
    await Promise.race([sleep(this.#options.clock, restMs(failures)), this.#closing.promise])
    if (!this.#closed) await this.#options.brokers.refresh().catch(() => {}) // what it cannot find out, the next attempt shows
  }

  /** Logs a lasting trouble once for each partition. */
  #tell(troubled: readonly { name: string; told: Set<string> }[], error: unknown): void {
    const text = textOf(error)
    const untold = troubled.filter(({ told }) => !told.has(text))
    if (untold.length === 0 || this.#closed) return
    for (const { told } of untold) told.add(text)
    const names = untold.map(({ name }) => name).join(', ')
    this.#options.telemetry.emit('bus.log', { level: 'warn', message: `cannot read ${names} now: ${text}` })
  }
}

function newState(): State {
  const busySince = Number.NEGATIVE_INFINITY
  return {
    phase: 'ready',
    life: 0,
    isTold: false,
    source: null,
    leadersUntil: 0,
    busySince,
    failures: 0,
    trouble: null,
    told: new Set(),
    mark: noMark(),
  }
}
