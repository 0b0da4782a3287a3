import type { BusRecord, BusUnavailable, From } from '../bus/port.ts'
import { RequestBatcher } from '../bus/request-batcher.ts'
import type { Taken } from '../bus/streams/record-queue.ts'
import { topicRecords } from '../bus/streams/topic-stream.ts'
import { systemClock } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { SharedBus } from './shared-bus.ts'

/** One who waits for records of a topic. */
export interface Watcher<T> {
  /** The key of its records, as `WatchedTopic.keyOf` says it. */
  readonly key: string
  /** Takes the value of a record. Some come twice. */
  take(value: T): void
  /** The topic, or a record with this key, cannot be read. Nothing more comes. */
  fail(error: Error): void
}

/** How to read a watched topic. */
export interface WatchedTopic<T> {
  topic: string
  /** The key of a record; null: nobody waits for it. */
  keyOf(record: BusRecord): string | typeof everyone | null
  /** @returns null if the reading has ended @throws Error when the record can never be read */
  decode(taken: Taken, ending: AbortSignal): Promise<T | null>
}

/** The key of records for every watcher. */
export const everyone = Symbol('everyone')

/** Clocks differ, and a record may be appended before its writer knows. */
const marginMs = 60_000
/** How long a reading goes on for the next who waits. */
const idleMs = 10_000
/** Most watchers that do not wait yet. */
const mostExpected = 100_000

interface Reading {
  end: AbortController
  /** Milliseconds since 1970. */
  since: number
  hasBegun: boolean
}

/**
 * One reading of a topic, shared by all who wait for records with certain keys. It begins when somebody waits, with what was
 * written a minute before the time asked for, and ends when nobody has waited for ten seconds. For those who come later, what
 * has passed is read back, once for all who come together.
 */
export class TopicWatch<T> {
  readonly #source: WatchedTopic<T>
  readonly #buses: SharedBus
  readonly #telemetry: Telemetry
  readonly #watchers = new Map<string, Set<Watcher<T>>>()
  readonly #waiting = new Set<Watcher<T>>()
  readonly #back = new RequestBatcher<number, null>(times =>
    this.#readBack(Math.min(...times)).then(() => times.map(() => null)),
  )
  #reading: Reading | null = null
  #idle: NodeJS.Timeout | null = null
  #size = 0

  /** Why nothing can be read now; null if it can. */
  trouble: BusUnavailable | null = null

  constructor(source: WatchedTopic<T>, buses: SharedBus, telemetry: Telemetry) {
    this.#source = source
    this.#buses = buses
    this.#telemetry = telemetry
  }

  /** Whether the watcher gets every record that is written from now on. */
  has(watcher: Watcher<T>): boolean {
    return this.#watchers.get(watcher.key)?.has(watcher) ?? false
  }

  /** Gives records to one who may wait later, if the topic is being read anyway. */
  expect(watcher: Watcher<T>): void {
    if (this.#reading && this.#size < mostExpected) this.#add(watcher)
  }

  /** @param since when its records were written at the earliest, milliseconds since 1970 */
  watch(watcher: Watcher<T>, since: number): void {
    const wasExpected = this.has(watcher)
    this.#add(watcher)
    this.#waiting.add(watcher)
    this.#stopIdling()
    if (!this.#reading) void this.#read(since)
    else if (!this.#reading.hasBegun) this.#reading.since = Math.min(this.#reading.since, since)
    else if (!wasExpected) this.readBack(watcher, since)
  }

  /** Reads again what was written since then. */
  readBack(watcher: Watcher<T>, since: number): void {
    this.#back.get(since).catch((error: Error) => {
      if (this.has(watcher)) this.#fail(watcher, error)
    })
  }

  /** The watcher gets nothing more. */
  leave(watcher: Watcher<T>): void {
    const watchers = this.#watchers.get(watcher.key)
    if (watchers?.delete(watcher)) this.#size--
    if (watchers?.size === 0) this.#watchers.delete(watcher.key)
    if (!this.#waiting.delete(watcher) || this.#waiting.size > 0) return
    this.#idle = setTimeout(() => this.closeIfIdle(), idleMs).unref()
  }

  /** Ends the reading if nobody waits. */
  closeIfIdle(): void {
    if (this.#waiting.size === 0) this.#close()
  }

  #stopIdling(): void {
    if (this.#idle) clearTimeout(this.#idle)
    this.#idle = null
  }

  #close(): void {
    this.#stopIdling()
    this.#reading?.end.abort()
    this.#reading = null
    this.#watchers.clear()
    this.#waiting.clear()
    this.#size = 0
  }

  #add(watcher: Watcher<T>): void {
    const watchers = this.#watchers.get(watcher.key) ?? new Set()
    this.#watchers.set(watcher.key, watchers)
    if (!watchers.has(watcher)) this.#size++
    watchers.add(watcher)
  }

  async #read(since: number): Promise<void> {
    const reading: Reading = { end: new AbortController(), since, hasBegun: false }
    this.#reading = reading
    await new Promise(resolve => setImmediate(resolve)) // lets all who wait in this tick have their time read
    reading.hasBegun = true
    try {
      await this.#deliver(reading.since, { untilEnd: false, ending: reading.end.signal })
    } catch (error) {
      if (this.#reading === reading) this.#failAll(error as Error)
    }
  }

  async #readBack(since: number): Promise<void> {
    if (this.#reading) await this.#deliver(since, { untilEnd: true, ending: this.#reading.end.signal })
  }

  async #deliver(since: number, range: { untilEnd: boolean; ending: AbortSignal }): Promise<void> {
    const from: From = since > marginMs ? since - marginMs : 'earliest'
    const { ending } = range
    const reached = (trouble: BusUnavailable | null) => {
      this.trouble = trouble
    }
    const { topic } = this.#source
    await this.#buses.use(async bus => {
      const options = {
        bus,
        topic,
        clock: systemClock,
        telemetry: this.#telemetry,
        reached,
        from: () => from,
        ...range,
      }
      for await (const taken of topicRecords(options)) {
        const watchers = this.#watchersOf(taken.record)
        if (watchers.length > 0) await this.#give(taken, watchers, ending)
      }
    })
  }

  #watchersOf(record: BusRecord): readonly Watcher<T>[] {
    const key = this.#source.keyOf(record)
    if (key === null) return []
    return key === everyone
      ? [...this.#watchers.values()].flatMap(some => [...some])
      : [...(this.#watchers.get(key) ?? [])]
  }

  async #give(taken: Taken, watchers: readonly Watcher<T>[], ending: AbortSignal): Promise<void> {
    try {
      const value = await this.#source.decode(taken, ending)
      if (value !== null && !ending.aborted) for (const watcher of watchers) watcher.take(value)
    } catch (error) {
      for (const watcher of watchers) this.#fail(watcher, error as Error)
    }
  }

  #fail(watcher: Watcher<T>, error: Error): void {
    this.leave(watcher)
    watcher.fail(error)
  }

  #failAll(error: Error): void {
    const watchers = [...this.#watchers.values()].flatMap(some => [...some])
    this.#close()
    for (const watcher of watchers) watcher.fail(error)
  }
}
