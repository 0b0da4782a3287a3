import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { type Mark, noMark } from '../batches/record-batch.ts'
import type { TopicPartition } from '../port.ts'
import type { Brokers } from '../wire/brokers.ts'
import { fetchRecords } from '../wire/fetch-api.ts'
import { type FetchedRecords, fetchCommitted } from './fetch.ts'
import { type FetchPosition, Source } from './fetch-source.ts'
import { logEnds } from './offsets.ts'
import type { Reading } from './reading.ts'
import { errorTypeOf, restMs, textOf, unknownPartition } from './reading-trouble.ts'

export interface FetcherOptions {
  brokers: Brokers
  clock: Clock
  telemetry: Telemetry
  /** Where this client is, to read from replicas that are near; undefined: from leaders. */
  rack?: string | undefined
}

/** asked: a broker is. busy: its records are being worked on. resting: in trouble, and waiting to try again. */
interface ReadingState {
  readonly reading: Reading
  phase: 'ready' | 'asked' | 'busy' | 'resting'
  /** The life that the reading had when it was asked for. */
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
  /** Texts that were told already of the trouble that the partition is in. */
  told: Set<string>
  mark: Mark
}

/** A leader that is elected takes less. */
const lastingMs = 3_000
/** A partition that is newly read, or ready again, waits so long at most for the fetch under way. */
const longWaitMs = 200
/** While some may be ready soon, or wait for their turn; less would ask without a rest where nothing is new for any. */
const shortWaitMs = 10
/**
 * A fetch that brought the last records, and few, began at least so long before the next one begins. At a trickle over many
 * each record would else be fetched alone. A record that comes within the pace waits for the rest of it.
 */
const paceMs = 15
const fewRecords = 64
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
  /** All readings; those that got something come last. */
  readonly #readings = new Map<Reading, ReadingState>()
  /** The source of each node. */
  readonly #sources = new Map<number, Source>()
  /** What has to end before the connections may be closed. */
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = Promise.withResolvers<void>()
  #scheduled = false
  #cancelRest: (() => void) | null = null
  #closed = false

  constructor(options: FetcherOptions) {
    this.#options = options
  }

  /** Begins to read; a reading that changed its offset or its pause is told again. */
  read(reading: Reading): void {
    if (this.#closed) return
    if (!this.#readings.has(reading)) this.#readings.set(reading, newState(reading))
    this.#schedule()
  }

  forget(reading: Reading): void {
    this.#readings.delete(reading)
  }

  /** Tells why it has not been read for some seconds; null: it has, or it rests. */
  troubleOf(reading: Reading): string | null {
    const trouble = this.#readings.get(reading)?.trouble
    if (!trouble || reading.paused) return null
    return this.#options.clock.monotonic() - trouble.since >= lastingMs ? trouble.text : null
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelRest?.()
    this.#closing.resolve()
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
      if (!this.#closed) this.#fetchAll()
    })
  }

  #fetchAll(): void {
    const now = this.#options.clock.monotonic()
    const ready = new Map<number, ReadingState[]>()
    for (const state of this.#readings.values()) {
      if (state.phase !== 'ready' || state.reading.paused) continue
      if (!state.source || state.source.until < now) {
        this.#run(this.#findLeader(state.reading, state))
        continue
      }
      const group = ready.get(state.source.node)
      if (group) group.push(state)
      else ready.set(state.source.node, [state])
    }
    for (const [node, group] of ready) {
      const source = this.#sourceOf(node)
      if (source.isAsked) continue
      if (source.restsUntil > now) this.#scheduleIn(source.restsUntil - now)
      else this.#run(this.#fetch(source, group))
    }
  }

  #scheduleIn(ms: number): void {
    this.#cancelRest ??= this.#options.clock.after(Math.ceil(ms), () => {
      this.#cancelRest = null
      this.#schedule()
    })
  }

  async #findLeader(reading: Reading, state: ReadingState): Promise<void> {
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
  async #fetch(source: Source, ready: readonly ReadingState[]): Promise<void> {
    const beganAt = this.#options.clock.monotonic()
    const fetch = source.begin()
    const asked = ready.filter(state => {
      const { reading, mark } = state
      if (!fetch.add(reading.tp, reading.offset, mark)) return false
      state.phase = 'asked'
      if (state.life !== reading.life) state.isTold = false
      state.life = reading.life
      return true
    })
    if (asked.length < ready.length) for (const state of asked) this.#toTheEnd(state.reading, state)
    const { alone, session } = source
    const limits = { ...this.#limits(asked), alone, waitMs: asked.length < ready.length ? shortWaitMs : this.#waitMs() }
    let found = 0
    let isMoreThere = false
    try {
      const answers = await fetchCommitted(request => session.fetch(request), fetch.places, limits)
      for (const place of fetch.places) {
        const answer = answers.get(place)
        if (answer?.ok) {
          found += answer.records.length
          isMoreThere ||= answer.next < answer.highWatermark
        } else if (answer) this.#run(this.#recover(readingsAt(asked, place), answer.error))
      }
      for (const state of asked) {
        const place = source.placeOf(state.reading.tp)
        const answer = answers.get(place)
        if (answer?.ok !== false) this.#take(state, place.offset, answer, session.highWatermark(place.tp))
      }
    } catch (error) {
      this.#run(
        this.#recover(
          asked.map(({ reading }) => reading),
          error,
        ),
      )
    }
    source.end()
    if (found > 0 && found < fewRecords && !isMoreThere) source.restsUntil = beganAt + paceMs
    this.#schedule()
  }

  #sourceOf(node: number): Source {
    const { brokers } = this.#options
    const source =
      this.#sources.get(node) ?? new Source(request => brokers.ask({ node }, fetchRecords, request, { line: 'fetch' }))
    this.#sources.set(node, source)
    return source
  }

  /** Who names its rack may be sent to a replica in place of an answer. */
  #limits(asked: readonly ReadingState[]) {
    const { clock, rack = '' } = this.#options
    const now = clock.monotonic()
    const leadersOnly = rack !== '' && asked.some(({ leadersUntil }) => leadersUntil > now)
    const roomPerPartition = Math.max(roomAtLeast, Math.min(roomAtMost, roomInAll / this.#readings.size))
    return { bytesPerPartition, roomPerPartition, rack: leadersOnly ? '' : rack }
  }

  #waitMs(): number {
    const soon = this.#options.clock.monotonic() - longWaitMs
    for (const { phase, busySince } of this.#readings.values()) {
      if (phase === 'busy' && busySince > soon) return shortWaitMs
    }
    return longWaitMs
  }

  /**
   * @param fetched missing: there is nothing new
   * @param highWatermark null: the broker has not told it yet
   */
  #take(state: ReadingState, from: number, fetched: FetchedRecords | undefined, highWatermark: number | null): void {
    const { reading } = state
    if (this.#readings.get(reading) !== state) return
    state.phase = 'ready'
    if (reading.offset !== from || reading.life !== state.life) return // it was moved meanwhile
    state.failures = 0
    state.trouble = null
    if (state.told.size > 0) state.told.clear()
    const answer = fetched ?? (state.isTold ? null : emptyAt(from, highWatermark))
    if (!answer) return
    state.isTold = true
    if (answer.preferredReplica >= 0) this.#readFrom(answer.preferredReplica, state)
    if (answer.next > from) this.#toTheEnd(reading, state)
    reading.offset = answer.next
    const taken = reading.take(answer, from)
    if (taken && answer.records.length > 0) this.#untilTaken(state, taken)
  }

  #readFrom(replica: number, state: ReadingState): void {
    state.source = { node: replica, until: this.#options.clock.monotonic() + replicaAgeMs, isReplica: true }
  }

  /** A broker fills its answer in the order of the request, so the first places go round. */
  #toTheEnd(reading: Reading, state: ReadingState): void {
    this.#readings.delete(reading)
    this.#readings.set(reading, state)
  }

  #untilTaken(state: ReadingState, taken: Promise<void>): void {
    state.phase = 'busy'
    state.busySince = this.#options.clock.monotonic()
    void taken.then(() => {
      state.phase = 'ready'
      this.#schedule()
    })
  }

  /** Asks the leader for what a replica cannot answer; partitions for which the leader has no answer either rest. */
  async #recover(troubled: readonly Reading[], error: unknown): Promise<void> {
    const still = troubled.filter(reading => this.#readings.has(reading))
    const ofReplicas = still.filter(reading => this.#readings.get(reading)!.source?.isReplica)
    const ofLeaders = still.filter(reading => !ofReplicas.includes(reading))
    for (const reading of ofReplicas) this.#leaveReplica(this.#readings.get(reading)!)
    if (ofReplicas.length > 0) this.#schedule()
    if (ofLeaders.length > 0) await this.#recoverFromLeader(ofLeaders, error)
  }

  #leaveReplica(state: ReadingState): void {
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
    if (errorTypeOf(error) === unknownPartition) for (const reading of troubled) reading.gone?.(error as Error)
    this.#tell(
      troubled.map((reading, i) => ({ name: nameOf(reading.tp), told: states[i]!.told })),
      error,
    )
    await this.#rest(Math.max(1, ...states.map(({ failures }) => failures)))
    for (const [i, reading] of troubled.entries()) {
      if (errorTypeOf(error) === 'OFFSET_OUT_OF_RANGE') await this.#relocate(reading).catch(() => {}) // asked again
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

const emptyAt = (next: number, highWatermark: number | null): FetchedRecords | null =>
  highWatermark === null ? null : { ok: true, records: [], next, highWatermark, preferredReplica: -1 }

const readingsAt = (asked: readonly ReadingState[], { tp }: FetchPosition): Reading[] =>
  asked.flatMap(({ reading }) =>
    reading.tp.topic === tp.topic && reading.tp.partition === tp.partition ? reading : [],
  )

function newState(reading: Reading): ReadingState {
  const busySince = Number.NEGATIVE_INFINITY
  return {
    reading,
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
