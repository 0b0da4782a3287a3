import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { passes } from '../cluster/errors.ts'
import { longestPaceMs } from '../session/driver.ts'
import type { FetchedRecords } from './fetch.ts'
import { fetchRecords } from './fetch-api.ts'
import { Source } from './fetch-source.ts'
import { logEnds } from './offsets.ts'
import { OpenTransactions } from './open-transactions.ts'
import { newState, type Reading, type ReadingState } from './reading.ts'
import { errorTypeOf, lastingMs, ReadingTrouble, textOf, unknownPartition } from './reading-trouble.ts'

export interface FetcherOptions {
  brokers: Brokers
  clock: Clock
  telemetry: Telemetry
  /** Where this client is, to read from replicas that are near; undefined: from leaders. */
  rack?: string | undefined
}

/** A partition that is newly read, or ready again, waits so long at most for the fetch under way. */
const longWaitMs = 200
/** A fetch waits so long where nothing was read, or newly read, for a while: an idle process asks less often. */
const idleWaitMs = 500
const idleAfterMs = 5_000
/** While some may be ready soon, or wait for their turn; less would ask without a rest where nothing is new for any. */
const shortWaitMs = 10
/**
 * A fetch that brought the last records there were leaves brokers the time to collect so many again, but no longer than
 * `longestPaceMs`: at a trickle each record would else be fetched alone, and go the whole way alone.
 */
const worthFetching = 100
/**
 * Beside a backlog, be it paused, brokers are left no more time than this: the process is awake, and what is urgent is not
 * to wait for its sleep.
 */
const busyPaceMs = 15
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
/** How often it is looked whose leader is of that age. */
const lookMs = 1_000
/** How long a nearer replica is read from, or one that failed is not. */
const replicaAgeMs = 60_000

/**
 * Fetches for any number of readings. All that are read from one broker share its next fetch, and each broker has one
 * fetch at a time: on its connection a second one would queue behind the first.
 */
export class Fetcher {
  readonly #options: FetcherOptions
  readonly #readings = new Map<Reading, ReadingState>()
  /** The source of each node. */
  readonly #sources = new Map<number, Source<ReadingState>>()
  /** Readings whose leader is to be looked for. */
  readonly #leaderless = new Set<ReadingState>()
  /** When leaders are looked at again, in monotonic milliseconds. */
  #looksAt = Number.NEGATIVE_INFINITY
  /** When there were records last, or a new reading, in monotonic milliseconds. */
  #stirredAt = Number.NEGATIVE_INFINITY
  /** Until when all are read from leaders alone, because a replica failed. */
  #leadersUntil = Number.NEGATIVE_INFINITY
  /** All of this has to end before the connections may be closed. */
  readonly #running = new Set<Promise<unknown>>()
  readonly #trouble: ReadingTrouble
  readonly openTransactions: OpenTransactions
  #scheduled = false
  #cancelWake: (() => void) | null = null
  /** When rests end next, in monotonic milliseconds. */
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(options: FetcherOptions) {
    this.#options = options
    this.#trouble = new ReadingTrouble(options)
    this.openTransactions = new OpenTransactions(options)
  }

  /** Begins to read; a reading that changed its offset, its life or its pause is told again. */
  read(reading: Reading): void {
    if (this.#trouble.closed) return
    let state = this.#readings.get(reading)
    if (!state) {
      if (reading.paused) return
      state = newState(reading)
      this.#readings.set(reading, state)
      this.#stirredAt = this.#options.clock.monotonic()
    }
    if (reading.paused) this.openTransactions.forget(reading.tp)
    this.#place(state)
  }

  forget(reading: Reading): void {
    const state = this.#readings.get(reading)
    if (!state) return
    this.#readings.delete(reading)
    this.openTransactions.forget(reading.tp)
    this.#place(state)
  }

  /** Tells why it has not been read for some seconds; null: it has, or it rests. */
  troubleOf(reading: Reading): string | null {
    const state = this.#readings.get(reading)
    return state && !reading.paused && this.#lasts(state) ? state.trouble!.text : null
  }

  #lasts({ trouble }: ReadingState): boolean {
    return trouble !== null && this.#options.clock.monotonic() - trouble.since >= lastingMs
  }

  async close(): Promise<void> {
    this.#trouble.close()
    this.#cancelWake?.()
    this.#readings.clear()
    await Promise.allSettled(this.#running)
  }

  #run(work: Promise<unknown>): void {
    const ended = () => void this.#running.delete(work)
    this.#running.add(work)
    work.then(ended, ended)
  }

  /** Fetches after this turn of the event loop, so that handlers that are done at once are in for the next fetch. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#trouble.closed) this.#fetchAll()
    })
  }

  /** Has it part in the fetches that it is ready for, and in no others. */
  #place(state: ReadingState): void {
    const { reading, phase, from } = state
    const isWanted = this.#readings.get(reading) === state && phase === 'ready' && !reading.paused
    const source = isWanted && from ? this.#sourceOf(from.node) : null
    if (state.source !== source) state.source?.leave(state)
    source?.want(state)
    state.source = source
    if (source && state.isBehind) source.isHurried = true
    if (!isWanted) return
    if (!from || from.until < this.#options.clock.monotonic()) this.#leaderless.add(state)
    this.#schedule()
  }

  #fetchAll(): void {
    const now = this.#options.clock.monotonic()
    this.#lookForLeaders(now)
    for (const source of this.#sources.values()) {
      if (!source.isWanted || source.isAsked) continue
      if (source.restsUntil > now && !source.isHurried) this.#wakeAt(source.restsUntil)
      else this.#run(this.#fetch(source))
    }
  }

  #lookForLeaders(now: number): void {
    if (this.#looksAt <= now) {
      this.#looksAt = now + lookMs
      this.#run(this.openTransactions.check())
      for (const state of this.#readings.values()) {
        if (state.source && state.from!.until < now) this.#leaderless.add(state)
      }
    }
    for (const state of this.#leaderless) if (!state.isSought) this.#run(this.#findLeader(state))
    this.#leaderless.clear()
  }

  #wakeAt(instant: number): void {
    if (instant >= this.#wakesAt) return
    const { clock } = this.#options
    this.#cancelWake?.()
    this.#wakesAt = instant
    this.#cancelWake = clock.after(Math.ceil(instant - clock.monotonic()), () => {
      this.#wakesAt = Number.POSITIVE_INFINITY
      this.#schedule()
    })
  }

  async #findLeader(state: ReadingState): Promise<void> {
    const { brokers, clock } = this.#options
    state.isSought = true
    try {
      const node = await brokers.leader(state.reading.tp)
      state.from = { node, until: clock.monotonic() + leaderAgeMs, isReplica: false }
      this.#place(state)
    } catch (error) {
      await this.#recover([state], error)
    } finally {
      state.isSought = false
    }
  }

  async #fetch(source: Source<ReadingState>): Promise<void> {
    const beganAt = this.#options.clock.monotonic()
    source.isAsked = true
    source.isHurried = false
    const mustOthersWait = source.begin()
    const isStillThere = (state: ReadingState) => state.source === source
    let found = 0
    let isMoreThere = false
    try {
      const answers = await source.fetch({ ...this.#limits(), waitMs: mustOthersWait ? shortWaitMs : this.#waitMs() })
      for (const [place, answer] of answers) {
        if (answer.ok) {
          found += answer.records.length
          isMoreThere ||= hasMore(answer)
          this.openTransactions.heard(place.tp, answer)
          for (const state of source.askedAt(place)) this.#take(state, place.offset, answer)
        } else this.#run(this.#recover(source.askedAt(place).filter(isStillThere), answer.error))
      }
    } catch (error) {
      this.#run(this.#recover(source.asked.filter(isStillThere), error))
    }
    source.isAsked = false
    const answeredAt = this.#options.clock.monotonic()
    if (found > 0) this.#stirredAt = answeredAt
    if (found > 0 && !isMoreThere) {
      const collectMs = ((answeredAt - source.answeredAt) * worthFetching) / found
      const longestMs = this.#isBehind ? busyPaceMs : longestPaceMs
      source.restsUntil = this.#together(source, beganAt + Math.min(longestMs, collectMs))
    }
    source.answeredAt = answeredAt
    this.#schedule()
  }

  get #isBehind(): boolean {
    return [...this.#readings.values()].some(({ isBehind }) => isBehind)
  }

  /** Sources that rest go on at one time, so that what they bring goes on together: a little sooner, if another one does. */
  #together(source: Source<ReadingState>, restsUntil: number): number {
    const sooner = Math.max(restsUntil - longestPaceMs / 2, this.#options.clock.monotonic())
    const others = [...this.#sources.values()].filter(other => other !== source && other.restsUntil > sooner)
    return Math.min(restsUntil, ...others.map(other => other.restsUntil))
  }

  #sourceOf(node: number): Source<ReadingState> {
    const { brokers } = this.#options
    const source =
      this.#sources.get(node) ??
      new Source<ReadingState>(request => brokers.ask({ node }, fetchRecords, [request], { line: 'fetch' }))
    this.#sources.set(node, source)
    return source
  }

  /** Who names its rack may be sent to a replica in place of an answer. */
  #limits() {
    const { clock, rack = '' } = this.#options
    const roomPerPartition = Math.max(roomAtLeast, Math.min(roomAtMost, roomInAll / this.#readings.size))
    return { bytesPerPartition, roomPerPartition, rack: this.#leadersUntil > clock.monotonic() ? '' : rack }
  }

  get #replicaUntil(): number {
    return this.#options.clock.monotonic() + replicaAgeMs
  }

  #waitMs(): number {
    const now = this.#options.clock.monotonic()
    for (const { phase, busySince } of this.#readings.values()) {
      if (phase === 'busy' && busySince > now - longWaitMs) return shortWaitMs
    }
    return now - this.#stirredAt > idleAfterMs ? idleWaitMs : longWaitMs
  }

  #take(state: ReadingState, offset: number, answer: FetchedRecords): void {
    const { reading } = state
    if (this.#readings.get(reading) !== state || state.phase !== 'ready') return
    if (reading.offset !== offset || reading.life !== state.life) {
      this.#place(state) // it was moved meanwhile
      return
    }
    state.failures = 0
    state.trouble = null
    state.told.clear()
    const { next, highWatermark, preferredReplica } = answer
    const { toldEnd } = state
    const isTold = toldEnd?.life === reading.life && toldEnd.highWatermark === highWatermark
    if (isTold && next === offset && preferredReplica < 0) return
    state.toldEnd = { life: reading.life, highWatermark }
    if (preferredReplica >= 0) state.from = { node: preferredReplica, until: this.#replicaUntil, isReplica: true }
    reading.offset = next
    state.isBehind = hasMore(answer)
    const taken = reading.take(answer, offset)
    if (taken && answer.records.length > 0) this.#untilTaken(state, taken)
    this.#place(state)
  }

  #untilTaken(state: ReadingState, taken: Promise<void>): void {
    state.phase = 'busy'
    state.busySince = this.#options.clock.monotonic()
    void taken.then(() => {
      state.phase = 'ready'
      this.#place(state)
    })
  }

  /** Asks the leader for what a replica cannot answer; partitions for which the leader has no answer either rest. */
  async #recover(troubled: readonly ReadingState[], error: unknown): Promise<void> {
    const still = troubled.filter(state => this.#readings.get(state.reading) === state && state.phase === 'ready')
    const ofReplicas = still.filter(({ from }) => from?.isReplica)
    const ofLeaders = still.filter(({ from }) => !from?.isReplica)
    if (ofReplicas.length > 0) this.#leadersUntil = this.#replicaUntil
    for (const state of ofReplicas) {
      state.from = null
      this.#place(state)
    }
    const isCut = errorTypeOf(error) === 'OFFSET_OUT_OF_RANGE'
    const unmoved = isCut ? await this.#moveIntoLog(ofLeaders) : ofLeaders
    if (unmoved.length > 0) await this.#rest(unmoved, error)
  }

  /** Lets them go on where their logs begin, at once: a log that was cut is no trouble. @returns those that stay where they are */
  async #moveIntoLog(states: readonly ReadingState[]): Promise<ReadingState[]> {
    for (const state of states) {
      state.phase = 'resting'
      this.#place(state)
    }
    const moved = await Promise.all(states.map(({ reading }) => this.#relocate(reading).catch(() => false)))
    for (const [i, state] of states.entries()) {
      state.phase = 'ready'
      if (moved[i]) this.#place(state)
    }
    return states.filter((_, i) => !moved[i])
  }

  /** Lets them try again after a while. */
  async #rest(states: readonly ReadingState[], error: unknown): Promise<void> {
    const { clock } = this.#options
    for (const state of states) {
      state.phase = 'resting'
      state.from = null
      state.failures++
      state.trouble = { text: textOf(error), since: state.trouble?.since ?? clock.monotonic() }
      this.#place(state)
    }
    if (errorTypeOf(error) === unknownPartition) for (const { reading } of states) reading.gone?.(error as Error)
    const lasting = passes(error, 'leader') ? states.filter(state => this.#lasts(state)) : states
    this.#tell(lasting, error)
    await this.#trouble.rest(Math.max(...states.map(({ failures }) => failures)))
    for (const state of states) {
      state.phase = 'ready'
      this.#place(state)
    }
  }

  /** @returns whether the reading stands elsewhere now */
  async #relocate(reading: Reading): Promise<boolean> {
    const { offset } = reading
    const ends = await logEnds(this.#options.brokers, reading.tp)
    const isStillThere = this.#readings.has(reading) && reading.offset === offset
    if (isStillThere && (offset < ends.low || offset > ends.high)) reading.cut(ends)
    return reading.offset !== offset || !isStillThere
  }

  /** Logs a lasting trouble once for each partition. */
  #tell(states: readonly ReadingState[], error: unknown): void {
    const text = textOf(error)
    const untold = states.filter(({ told }) => !told.has(text))
    if (untold.length === 0) return
    for (const { told } of untold) told.add(text)
    this.#trouble.tell(untold.map(({ reading: { tp } }) => `${tp.topic}/${tp.partition}`).join(', '), text)
  }
}

/** Behind the stable offset nothing can be read yet. */
const hasMore = ({ next, stableOffset }: FetchedRecords) => next < stableOffset
