import { reportFault } from '../../telemetry/contain.ts'
import { Told } from '../../told.ts'
import { isTransient } from '../cluster/errors.ts'
import { longestPaceMs } from '../driver.ts'
import { PartitionMap } from '../partitions.ts'
import type { Isolation } from '../port.ts'
import { type FetchedRecords, fetchCommitted } from './fetch.ts'
import { fetchRecords } from './fetch-api.ts'
import { logEnds } from './offsets.ts'
import { OpenTransactions } from './open-transactions.ts'
import {
  backOff,
  errorTypeOf,
  lastingMs,
  type ReadOptions,
  reportUnread,
  textOf,
  unknownPartition,
} from './read-back-off.ts'
import { type Place, type Reading, ReadingState, type Reads } from './reading.ts'
import { TickBudget } from './tick-budget.ts'

export interface FetcherOptions extends ReadOptions {
  /** This client's rack, to read from nearer replicas; undefined reads from leaders. */
  rack?: string | undefined
  /** Of all readings: it belongs to the request. Default: committed. */
  isolation?: Isolation
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
const partitionBytes = 256 * 1024
/**
 * Bytes of memory for records that are fetched but not yet taken, shared by all readings; each may hold one fetch. A window
 * never holds more records than fit into `roomAtMost`.
 */
const roomInAll = 16 * 1024 * 1024
const roomAtMost = 4 * 1024 * 1024
const roomAtLeast = 128 * 1024
/** Longest age of a known leader: a former leader may go on answering as a replica. */
const leaderAgeMs = 5_000
/** How long a nearer replica is used, and how long replicas are avoided after a failure. */
const replicaAgeMs = 60_000

/** A broker that is fetched from. */
interface Source {
  /** Whether a fetch is in flight. */
  isAsked: boolean
  /** Time of the last answer, in monotonic milliseconds. */
  answeredAt: number
}

/**
 * Fetches for any number of readings. All readings of one broker share its next fetch. Each broker has one fetch in flight: a
 * second on the same connection would queue behind the first.
 */
export class Fetcher implements Reads {
  readonly #options: FetcherOptions
  /** Those that got records last come last, because a broker fills its answer in the order of the request. */
  readonly #readings = new Map<Reading, ReadingState>()
  readonly #sources = new Map<number, Source>()
  readonly #ticks = new TickBudget()
  /** Time of the last records or new reading, in monotonic milliseconds. */
  #stirredAt = Number.NEGATIVE_INFINITY
  /** Until then, all fetches go to leaders because a replica failed. */
  #leadersUntil = Number.NEGATIVE_INFINITY
  /** Earliest start of the next fetch without a backlog, in monotonic milliseconds; the same for all brokers. */
  #restsUntil = Number.NEGATIVE_INFINITY
  readonly openTransactions: OpenTransactions
  #scheduled = false
  #cancelWake = () => {}

  constructor(options: FetcherOptions) {
    this.#options = options
    this.openTransactions = new OpenTransactions(options)
    options.closing.addEventListener('abort', () => {
      this.#cancelWake()
      this.#readings.clear()
    })
  }

  read(reading: Reading): void {
    if (this.#options.closing.aborted) return
    if (!this.#readings.has(reading)) {
      this.#readings.set(reading, new ReadingState(reading))
      this.#stirredAt = this.#options.clock.monotonic()
    }
    if (reading.paused) this.openTransactions.forget(reading.tp)
    this.#schedule()
  }

  forget(reading: Reading): void {
    if (this.#readings.delete(reading)) this.openTransactions.forget(reading.tp)
  }

  /** Why the reading has failed for some seconds; null if it succeeds or is paused. */
  troubleOf(reading: Reading): string | null {
    const state = this.#readings.get(reading)
    return state && !reading.paused && this.#lasts(state) ? state.trouble!.text : null
  }

  #lasts({ trouble }: ReadingState): boolean {
    return trouble !== null && this.#options.clock.monotonic() - trouble.since >= lastingMs
  }

  /** Whether the reading has not been forgotten since. */
  #has(state: ReadingState): boolean {
    return this.#readings.get(state.reading) === state
  }

  /** Fetches after this tick, so that handlers that finish at once take part in the next fetch. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#options.closing.aborted) this.#fetchAll()
    })
  }

  #fetchAll(): void {
    const now = this.#options.clock.monotonic()
    this.openTransactions.check()
    const ready = new Map<number, ReadingState[]>()
    for (const state of this.#readings.values()) {
      const { reading, phase, from } = state
      if (phase !== 'ready' || reading.paused) continue
      if (!state.isSought && (!from || from.until < now)) void this.#findLeader(state)
      if (!from) continue
      const states = ready.get(from.node) ?? []
      ready.set(from.node, states)
      states.push(state)
    }
    for (const [node, states] of ready) {
      if (this.#sources.get(node)?.isAsked) continue
      if (now >= this.#restsUntil || states.some(({ isBehind }) => isBehind)) void this.#fetch(node, states)
      else this.#wakeIn(this.#restsUntil - now)
    }
  }

  #wakeIn(ms: number): void {
    this.#cancelWake()
    this.#cancelWake = this.#options.clock.after(Math.ceil(ms), () => this.#schedule())
  }

  async #findLeader(state: ReadingState): Promise<void> {
    const { brokers, clock } = this.#options
    state.isSought = true
    try {
      const node = await brokers.leader(state.reading.tp)
      this.#compareTopic(state)
      state.from = { node, until: clock.monotonic() + leaderAgeMs, isReplica: false }
      this.#schedule()
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

  async #fetch(node: number, states: readonly ReadingState[]): Promise<void> {
    const { brokers, clock, isolation = 'committed' } = this.#options
    const line = isolation === 'committed' ? 'fetch' : 'fetch uncommitted'
    const source = this.#sources.get(node) ?? { isAsked: true, answeredAt: 0 }
    this.#sources.set(node, source)
    source.isAsked = true
    const beganAt = clock.monotonic()
    const { places, mustOthersWait } = this.#placesOf(states)
    let found = 0
    try {
      const answers = await fetchCommitted(
        request => brokers.ask({ node }, fetchRecords, [{ ...request, isolation }], { line }),
        places,
        { ...this.#limits(), waitMs: mustOthersWait ? shortWaitMs : this.#waitMs() },
      )
      for (const [place, answer] of answers) {
        if (answer.ok) {
          found += answer.records.length
          if (isolation === 'committed') this.openTransactions.heard(place.tp, answer)
          for (const state of stillAt(place)) this.#give(state, place, answer)
          if (answer.records.length > 0) this.#putLast(place)
        } else void this.#recover(stillAt(place), answer.error)
      }
    } catch (error) {
      void this.#recover(places.flatMap(stillAt), error)
    }
    source.isAsked = false
    this.#rest(source, found, beganAt)
    this.#schedule()
  }

  /**
   * Readings of one partition share a place if they are at the same offset; the others wait for the fetch after it.
   */
  #placesOf(states: readonly ReadingState[]): { places: Place[]; mustOthersWait: boolean } {
    const places = new PartitionMap<Place>()
    const contested = new Set<Place>()
    for (const state of states) {
      const { tp, offset } = state.reading
      const place = places.get(tp) ?? { tp, offset, asked: [] }
      places.set(tp, place)
      if (place.offset !== offset) {
        contested.add(place)
        continue
      }
      place.asked.push(state)
      state.place = place
    }
    for (const place of contested) this.#putLast(place)
    return { places: [...places], mustOthersWait: contested.size > 0 }
  }

  #putLast({ asked }: Place): void {
    for (const state of asked) {
      if (!this.#has(state)) continue
      this.#readings.delete(state.reading)
      this.#readings.set(state.reading, state)
    }
  }

  /** All brokers rest until the same moment, so that their records are processed together. */
  #rest(source: Source, found: number, beganAt: number): void {
    const now = this.#options.clock.monotonic()
    if (found > 0) {
      const isBehind = [...this.#readings.values()].some(state => state.isBehind)
      const collectMs = ((now - source.answeredAt) * worthFetching) / found
      const restsUntil = beganAt + Math.min(isBehind ? busyPaceMs : longestPaceMs, collectMs)
      this.#restsUntil = this.#restsUntil > now ? Math.min(this.#restsUntil, restsUntil) : restsUntil
      this.#stirredAt = now
    }
    source.answeredAt = now
  }

  /** A broker may send a client with a rack to a replica instead of answering. */
  #limits() {
    const { clock, rack = '' } = this.#options
    const roomPerPartition = Math.max(roomAtLeast, Math.min(roomAtMost, roomInAll / this.#readings.size))
    return { partitionBytes, roomPerPartition, rack: this.#leadersUntil > clock.monotonic() ? '' : rack }
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

  /** An error of one reading's handler is retried for this reading alone. */
  #give(state: ReadingState, place: Place, answer: FetchedRecords): void {
    try {
      this.#take(state, place, answer)
    } catch (error) {
      this.#failed(state, place.offset, error)
    }
  }

  #failed(state: ReadingState, offset: number, error: unknown): void {
    const { reading } = state
    reportFault(this.#options.telemetry, 'partition', { ...reading.tp, offset }, error)
    reading.offset = offset
    state.phase = 'ready'
    void this.#recover([state], error)
  }

  #take(state: ReadingState, place: Place, answer: FetchedRecords): void {
    const { reading } = state
    const isWanted = this.#has(state) && state.phase === 'ready'
    if (!isWanted || reading.offset !== place.offset) return // it was moved meanwhile
    state.trouble = null
    const { next, preferredReplica, stableOffset, highWatermark } = answer
    if (preferredReplica >= 0) state.from = { node: preferredReplica, until: this.#replicaUntil, isReplica: true }
    reading.offset = next
    // committed records after the last stable offset are not readable yet
    state.isBehind = next < (this.#options.isolation === 'uncommitted' ? highWatermark : stableOffset)
    const taken = this.#ticks.give(answer, place.offset, ({ records, from, next: end }) => {
      if (!this.#has(state) || reading.offset !== next) return false // it was moved meanwhile
      const taking = reading.take({ records, next: end, highWatermark }, from)
      return taking?.then(() => true) ?? true
    })
    const settled = taken?.catch(error => this.#failed(state, place.offset, error))
    if (settled && answer.records.length > 0) this.#untilTaken(state, settled)
  }

  #untilTaken(state: ReadingState, taken: Promise<void>): void {
    state.phase = 'busy'
    state.busySince = this.#options.clock.monotonic()
    void taken.then(() => {
      if (state.phase === 'busy') state.phase = 'ready'
      this.#schedule()
    })
  }

  /** Retries at the leader after a replica's failure; backs off after a leader's. */
  async #recover(asked: readonly ReadingState[], error: unknown): Promise<void> {
    const states = asked.filter(({ phase }) => phase === 'ready')
    const ofLeaders = states.filter(({ from }) => !from?.isReplica)
    if (ofLeaders.length < states.length) this.#leadersUntil = this.#replicaUntil
    for (const state of states) state.from = null
    for (const state of ofLeaders) state.phase = 'resting'
    this.#schedule()
    const isCut = errorTypeOf(error) === 'OFFSET_OUT_OF_RANGE'
    const moved = await Promise.all(ofLeaders.map(({ reading }) => isCut && this.#relocate(reading).catch(() => false)))
    const unmoved = ofLeaders.filter((_, i) => !moved[i])
    if (unmoved.length > 0) await this.#backOffWith(unmoved, error)
    for (const state of ofLeaders) state.phase = 'ready'
    this.#schedule()
  }

  /** Moves a reading whose log was truncated to the log's new beginning. @returns whether it has another offset now */
  async #relocate(reading: Reading): Promise<boolean> {
    const { offset } = reading
    const ends = await logEnds(this.#options.brokers, reading.tp)
    if (offset < ends.low || offset > ends.high) reading.cut(ends)
    return reading.offset !== offset
  }

  async #backOffWith(states: readonly ReadingState[], error: unknown): Promise<void> {
    const { clock } = this.#options
    for (const state of states) {
      const { since = clock.monotonic(), told = new Told(), failures = 0 } = state.trouble ?? {}
      state.trouble = { since, told, failures: failures + 1, text: textOf(error) }
    }
    if (errorTypeOf(error) === unknownPartition) for (const { reading } of states) reading.gone?.(error as Error)
    this.#tell(isTransient(error, 'leader') ? states.filter(state => this.#lasts(state)) : states, textOf(error))
    await backOff(this.#options, Math.max(...states.map(({ trouble }) => trouble!.failures)))
  }

  /** Logs a repeated error once per partition. */
  #tell(states: readonly ReadingState[], text: string): void {
    const untold = states.filter(({ trouble }) => trouble!.told.isNew(text))
    if (untold.length === 0) return
    const names = untold.map(({ reading: { tp } }) => `${tp.topic}/${tp.partition}`)
    reportUnread(this.#options, names.join(', '), text)
  }
}

/** The readings of a fetch that have not been fetched elsewhere since. */
const stillAt = (place: Place) => place.asked.filter(state => state.place === place)
