import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { isTransient } from '../cluster/errors.ts'
import { longestPaceMs } from '../session/driver.ts'
import type { FetchedRecords } from './fetch.ts'
import { fetchRecords } from './fetch-api.ts'
import { Source } from './fetch-source.ts'
import { logEnds } from './offsets.ts'
import { OpenTransactions } from './open-transactions.ts'
import { errorTypeOf, lastingMs, ReadBackOff, textOf, unknownPartition } from './read-back-off.ts'
import { newState, type Reading, type ReadingState } from './reading.ts'

export interface FetcherOptions {
  brokers: Brokers
  clock: Clock
  telemetry: Telemetry
  /** This client's rack, to read from nearer replicas; undefined reads from leaders. */
  rack?: string | undefined
}

/** Longest wait of a fetch at the broker, and thus the longest that a newly ready partition waits for the fetch in flight. */
const longWaitMs = 200
/** Longest wait when nothing was read for `idleAfterMs`: an idle process fetches less often. */
const idleWaitMs = 500
const idleAfterMs = 5_000
/** Longest wait while other readings are busy or wait for their turn. A shorter wait would busy-poll. */
const shortWaitMs = 10
/**
 * After a fetch that drained the brokers, the next one starts when about this many records have collected, but at most
 * `longestPaceMs` later. Without the pause, each record of a slow stream would be fetched and processed alone.
 */
const worthFetching = 100
/**
 * Longest such pause while any reading has a backlog, paused or not: the process is awake anyway, and urgent records must not
 * wait.
 */
const busyPaceMs = 15
const bytesPerPartition = 256 * 1024
/**
 * Bytes of memory for records that are fetched but not yet taken, shared by all readings; each may hold one fetch. A window
 * never holds more records than fit into `roomAtMost`.
 */
const roomInAll = 16 * 1024 * 1024
const roomAtMost = 4 * 1024 * 1024
const roomAtLeast = 128 * 1024
/** Longest age of a known leader: a former leader may go on answering as a replica. */
const leaderAgeMs = 5_000
/** Interval of checks for leaders of that age. */
const lookMs = 1_000
/** How long a nearer replica is used, and how long replicas are avoided after a failure. */
const replicaAgeMs = 60_000

/**
 * Fetches for any number of readings. All readings of one broker share its next fetch. Each broker has one fetch in flight: a
 * second on the same connection would queue behind the first.
 */
export class Fetcher {
  readonly #options: FetcherOptions
  readonly #readings = new Map<Reading, ReadingState>()
  readonly #sources = new Map<number, Source<ReadingState>>()
  /** Readings whose leader must be looked up. */
  readonly #leaderless = new Set<ReadingState>()
  /** Time of the next check of leaders, in monotonic milliseconds. */
  #looksAt = Number.NEGATIVE_INFINITY
  /** Time of the last records or new reading, in monotonic milliseconds. */
  #stirredAt = Number.NEGATIVE_INFINITY
  /** Until then, all fetches go to leaders because a replica failed. */
  #leadersUntil = Number.NEGATIVE_INFINITY
  readonly #backOff: ReadBackOff
  readonly openTransactions: OpenTransactions
  #scheduled = false
  #cancelWake: (() => void) | null = null
  /** Time of the next wake-up, in monotonic milliseconds. */
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(options: FetcherOptions) {
    this.#options = options
    this.#backOff = new ReadBackOff(options)
    this.openTransactions = new OpenTransactions(options)
  }

  /** Begins to read. Call it again after a change of the reading's offset, life or pause. */
  read(reading: Reading): void {
    if (this.#backOff.closed) return
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

  /** Why the reading has failed for some seconds; null if it succeeds or is paused. */
  troubleOf(reading: Reading): string | null {
    const state = this.#readings.get(reading)
    return state && !reading.paused && this.#lasts(state) ? state.trouble!.text : null
  }

  #lasts({ trouble }: ReadingState): boolean {
    return trouble !== null && this.#options.clock.monotonic() - trouble.since >= lastingMs
  }

  close(): void {
    this.#backOff.close()
    this.#cancelWake?.()
    this.#readings.clear()
  }

  /** Fetches after this tick, so that handlers that finish at once take part in the next fetch. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#backOff.closed) this.#fetchAll()
    })
  }

  /** Includes the reading in the fetches for which it is ready, and excludes it from all others. */
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
      else void this.#fetch(source)
    }
  }

  #lookForLeaders(now: number): void {
    if (this.#looksAt <= now) {
      this.#looksAt = now + lookMs
      void this.openTransactions.check()
      for (const state of this.#readings.values()) {
        if (state.source && state.from!.until < now) this.#leaderless.add(state)
      }
    }
    for (const state of this.#leaderless) if (!state.isSought) void this.#findLeader(state)
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
      this.#compareTopic(state)
      state.from = { node, until: clock.monotonic() + leaderAgeMs, isReplica: false }
      this.#place(state)
    } catch (error) {
      await this.#recover([state], error)
    } finally {
      state.isSought = false
    }
  }

  /** A topic that was deleted and recreated at once may have leaders again before a fetch fails, with other records at the same offsets. */
  #compareTopic(state: ReadingState): void {
    const { topic } = state.reading.tp
    const { topicId } = state
    state.topicId = this.#options.brokers.topicId(topic) ?? topicId
    if (topicId !== undefined && state.topicId !== topicId)
      state.reading.gone?.(new Error(`${topic} was deleted and made anew`))
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
        } else void this.#recover(source.askedAt(place).filter(isStillThere), answer.error)
      }
    } catch (error) {
      void this.#recover(source.asked.filter(isStillThere), error)
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

  /**
   * Aligns the pauses of sources, so that their records are processed together: a source resumes a little earlier if another
   * one does.
   */
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

  /** A broker may send a client with a rack to a replica instead of answering. */
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
    const { next, preferredReplica } = answer
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

  /** Retries at the leader after a replica's failure; backs off after a leader's. */
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

  /**
   * Moves readings whose log was truncated to the log's new beginning, without a back-off. @returns those that were not moved
   */
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

  /** Retries the readings after a back-off. */
  async #rest(states: readonly ReadingState[], error: unknown): Promise<void> {
    const { clock } = this.#options
    for (const state of states) {
      state.phase = 'resting'
      state.from = null
      state.failures++
      state.trouble = { since: clock.monotonic(), told: '', ...state.trouble, text: textOf(error) }
      this.#place(state)
    }
    if (errorTypeOf(error) === unknownPartition) for (const { reading } of states) reading.gone?.(error as Error)
    const lasting = isTransient(error, 'leader') ? states.filter(state => this.#lasts(state)) : states
    this.#tell(lasting, textOf(error))
    await this.#backOff.backOff(Math.max(...states.map(({ failures }) => failures)))
    for (const state of states) {
      state.phase = 'ready'
      this.#place(state)
    }
  }

  /** @returns whether the reading has another offset now */
  async #relocate(reading: Reading): Promise<boolean> {
    const { offset } = reading
    const ends = await logEnds(this.#options.brokers, reading.tp)
    const isStillThere = this.#readings.has(reading) && reading.offset === offset
    if (isStillThere && (offset < ends.low || offset > ends.high)) reading.cut(ends)
    return reading.offset !== offset || !isStillThere
  }

  /** Logs a repeated error once per partition. */
  #tell(states: readonly ReadingState[], text: string): void {
    const untold = states.filter(({ trouble }) => trouble!.told !== text)
    if (untold.length === 0) return
    for (const { trouble } of untold) trouble!.told = text
    this.#backOff.report(untold.map(({ reading: { tp } }) => `${tp.topic}/${tp.partition}`).join(', '), text)
  }
}

/** Records after the last stable offset are not readable yet. */
const hasMore = ({ next, stableOffset }: FetchedRecords) => next < stableOffset
