import { KeyedTopic } from '../../bus/keyed-topic.ts'
import type { Bus, BusRecord, Follower, TopicPartition } from '../../bus/port.ts'
import { type Clock, limited, skewMs, stopwatch } from '../../clock.ts'
import { type Decoder, decodePatiently, isReadableLater } from '../../records/decoder.ts'
import type { StatusEvent } from '../../records/generated.ts'
import { containAsync } from '../../telemetry/contain.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { Told } from '../../told.ts'

export interface EvidenceOptions {
  bus: Pick<Bus, 'follow' | 'lookAt' | 'firstTimes'>
  topic: string
  decoder: Decoder<StatusEvent>
  clock: Clock
  telemetry: Telemetry
}

/** A message that a status event would prove to be sent. */
export interface SoughtMessage {
  /** The command's id, as decimal text. */
  id: string
  account: string
  /** Earliest time of an event about it, milliseconds since 1970. */
  since: number
  found: (event: StatusEvent) => void
}

export interface EvidenceSearch {
  /**
   * Reads every status event that exists at the call.
   * @returns false if that takes longer than the limit
   */
  catchUp(limitMs: number): Promise<boolean>
  /** Whether `catchUp` succeeded recently and reading continues. */
  readonly isCaughtUp: boolean
  /** Ends the search; must be called even if evidence was found. */
  end(): void
}

/** Shortest interval between restarts of the reading further back, since new doubts come in bursts. */
const lookBackMs = 1000
/** Retry interval after a failed read. A doubt that is to be decided or sent again retries at once. */
const retryMs = 30_000
/** Shortest interval between log lines while statuses cannot be read. */
const tellMs = 60_000
/**
 * Validity of a `catchUp`: longer than it takes to connect to the gateway. A process that was frozen for longer must catch up
 * again.
 */
const freshMs = 5000
const noFollower = Promise.resolve(null)

interface MessageSearch {
  wanted: SoughtMessage
  parts: Map<number, SearchPart>
}

/** Like EvidenceSearch, for one partition and without a limit. */
type SearchPart = Omit<EvidenceSearch, 'catchUp'> & { catchUp(): Promise<boolean> }

/**
 * Callbacks as evidence: a verified status event proves that its message was sent. Statuses are read only while there are
 * doubts, from the oldest doubt's time on, and of these the partitions that may hold an event about a doubt. If the topic is
 * deleted and recreated, the new one is read from its start, whatever was read of the old one.
 */
export class Evidence {
  readonly #options: EvidenceOptions
  readonly #partitionSearches = new Map<number, PartitionSearch>()
  readonly #searching = new Set<MessageSearch>()
  readonly #statuses: KeyedTopic
  /** Of the topic, when the partitions to read were last chosen. */
  #known = { id: null as string | null, version: 0 }
  /** Whether the last `catchUp` failed. */
  #isBehind = false
  /** Why the topic could not be looked up last time; null if it could. */
  #unseen: string | null = null

  constructor(options: EvidenceOptions) {
    this.#options = options
    this.#statuses = new KeyedTopic(options.bus, options.topic, options.clock)
  }

  /** Why callbacks resolve no doubts now; null if they do, or if nothing is in doubt. */
  get trouble(): string | null {
    if (!this.#isBehind || this.#searching.size === 0) return null
    const troubles = [this.#unseen, ...Array.from(this.#partitionSearches.values(), ({ trouble }) => trouble)]
    const why = troubles.find(text => text !== null) ?? `${this.#options.topic} is not read to its end in time`
    return `callbacks resolve no doubts now, and nothing in doubt is sent again: ${why}`
  }

  search(wanted: SoughtMessage): EvidenceSearch {
    const search: MessageSearch = { wanted, parts: new Map() }
    this.#searching.add(search)
    this.#searchPartitions(search)
    void this.look().catch(() => {})
    return {
      catchUp: limitMs => this.#catchUp(search, limitMs),
      get isCaughtUp() {
        const parts = [...search.parts.values()]
        return parts.length > 0 && parts.every(part => part.isCaughtUp)
      },
      end: () => this.#end(search),
    }
  }

  #searchPartitions({ wanted, parts }: MessageSearch): void {
    for (const { partition } of this.#statuses.placesOf(wanted.id, wanted.since)) {
      const search = this.#partitionSearches.get(partition) ?? new PartitionSearch(partition, this.#options)
      this.#partitionSearches.set(partition, search)
      if (!parts.has(partition)) parts.set(partition, search.add(wanted))
    }
  }

  async #catchUp(search: MessageSearch, limitMs: number): Promise<boolean> {
    const reading = this.#partsCatchUp(search)
    const isCaughtUp = await limited(this.#options.clock, limitMs, reading).catch(() => false)
    if (this.#searching.has(search)) this.#isBehind = !isCaughtUp
    return isCaughtUp
  }

  async #partsCatchUp({ parts }: MessageSearch): Promise<boolean> {
    this.#unseen = await this.look(0).then(
      () => null,
      (error: Error) => error.message,
    )
    if (this.#unseen !== null) return false
    const caughtUp = await Promise.all([...parts.values()].map(part => part.catchUp()))
    return caughtUp.every(Boolean)
  }

  #end(search: MessageSearch): void {
    for (const part of search.parts.values()) part.end()
    this.#searching.delete(search)
  }

  /**
   * Learns which partitions to read.
   * @param maxAgeMs how old the known number of partitions may be
   * @throws Error when the topic cannot be read now
   */
  async look(maxAgeMs?: number): Promise<void> {
    await this.#statuses.look(maxAgeMs)
    const { id, version } = this.#statuses
    if (version === this.#known.version) return
    if (this.#known.id !== null && this.#known.id !== id) this.#forget()
    this.#known = { id, version }
    for (const search of this.#searching) this.#searchPartitions(search)
  }

  /** Stops reading a deleted topic. */
  #forget(): void {
    this.#partitionSearches.clear()
    for (const { parts } of this.#searching) {
      for (const part of parts.values()) part.end()
      parts.clear()
    }
  }
}

interface PartitionRequest extends SoughtMessage {
  /** Whether the current reading covers everything that can be about it. */
  isCovered: boolean
  /** Stopwatch since the last successful `catchUp`; null before the first. */
  sinceCaughtUp: (() => number) | null
  /** Events about it that could not be decoded yet, by offset: their schema is missing. */
  unread: Map<number, BusRecord>
}

interface Reading {
  /** Resolves to null if following failed. */
  follower: Promise<Follower | null>
  /** The `caughtUp` call of this tick, shared by all callers. */
  caughtUp: Promise<void> | null
  hasCaughtUp: boolean
  /** Whether records that have come are not understood yet. */
  isLooking: boolean
  /** Greatest timestamp of the records read. */
  readTo: number
}

/**
 * The search on one partition of the statuses, with one follower. For later doubts it restarts further back, once it has caught
 * up.
 */
class PartitionSearch {
  /** Why the partition cannot be read; null once it has been read to its end. */
  trouble: string | null = null
  readonly #options: EvidenceOptions
  readonly #tp: TopicPartition
  readonly #requests = new Map<string, Set<PartitionRequest>>()
  #reading: Reading | null = null
  #cancelBegin: (() => void) | null = null
  readonly #told = new Told(tellMs)

  constructor(partition: number, options: EvidenceOptions) {
    this.#tp = { topic: options.topic, partition }
    this.#options = options
  }

  add(wanted: SoughtMessage): SearchPart {
    const since = wanted.since - skewMs
    const isCovered = this.#reading !== null && this.#reading.readTo <= since
    const request: PartitionRequest = { ...wanted, since, isCovered, sinceCaughtUp: null, unread: new Map() }
    const ofId = this.#requests.get(wanted.id) ?? new Set()
    this.#requests.set(wanted.id, ofId.add(request))
    if (!this.#reading && !this.#cancelBegin) this.#begin()
    else if (!isCovered) this.#beginIn(lookBackMs)
    const search = this
    return {
      catchUp: () => this.#catchUp(request),
      get isCaughtUp() {
        return search.#isCaughtUp(request)
      },
      end: () => this.#end(request),
    }
  }

  #isCaughtUp({ isCovered, sinceCaughtUp, unread }: PartitionRequest): boolean {
    const reading = this.#reading
    const isRead = isCovered && reading?.hasCaughtUp === true && !reading.isLooking && unread.size === 0
    return isRead && sinceCaughtUp !== null && sinceCaughtUp() < freshMs
  }

  async #catchUp(request: PartitionRequest): Promise<boolean> {
    while (this.#requests.get(request.id)?.has(request)) {
      if (!request.isCovered) this.#begin()
      const reading = this.#reading
      const follower = await reading?.follower
      if (!reading || !follower) return false
      await this.#untilCaughtUp(reading, follower)
      if (!this.#reading) return false
      if (this.#reading !== reading || !request.isCovered) continue
      for (const record of [...request.unread.values()]) await this.#contained(record, [request], reading)
      if (request.unread.size > 0) return false
      request.sinceCaughtUp = stopwatch(this.#options.clock)
      this.trouble = null
      return true
    }
    return false
  }

  /** Resolves when the follower has caught up, or the reading ends. Calls of one tick share the answer. */
  #untilCaughtUp(reading: Reading, follower: Follower): Promise<void> {
    if (!reading.caughtUp) {
      reading.caughtUp = this.#untilEnd(reading, follower)
      queueMicrotask(() => {
        reading.caughtUp = null
      })
    }
    return reading.caughtUp
  }

  async #untilEnd(reading: Reading, follower: Follower): Promise<void> {
    await follower.caughtUp().then(
      () => {
        reading.hasCaughtUp = true
      },
      error => this.#lose(reading, error),
    )
  }

  #end(request: PartitionRequest): void {
    const ofId = this.#requests.get(request.id)
    ofId?.delete(request)
    if (ofId?.size === 0) this.#requests.delete(request.id)
    if (this.#requests.size > 0) return
    this.#close()
  }

  #beginIn(ms: number): void {
    this.#cancelBegin ??= this.#options.clock.after(ms, () => {
      this.#cancelBegin = null
      this.#begin()
    })
  }

  /** Begins to read, from the earliest time of the requests that are not covered. */
  #begin(): void {
    const all = this.#all
    const uncovered = all.filter(({ isCovered }) => !isCovered)
    if (uncovered.length === 0 || this.#reading?.hasCaughtUp === false) return // restarts when it has caught up
    this.#close()
    const readTo = uncovered.reduce((least, { since }) => Math.min(least, since), Number.POSITIVE_INFINITY)
    const reading: Reading = { follower: noFollower, caughtUp: null, hasCaughtUp: false, isLooking: false, readTo }
    this.#reading = reading
    for (const request of all) request.isCovered = true
    reading.follower = this.#options.bus
      .follow(this.#tp, readTo, records => this.#look(reading, records))
      .then(
        follower => {
          void this.#untilCaughtUp(reading, follower).then(() => {
            if (this.#all.some(({ isCovered }) => !isCovered)) this.#beginIn(lookBackMs)
          })
          return follower
        },
        error => {
          this.#lose(reading, error)
          return null
        },
      )
  }

  get #all(): PartitionRequest[] {
    return [...this.#requests.values()].flatMap(ofId => [...ofId])
  }

  #lose(reading: Reading, error: Error): void {
    if (this.#reading !== reading) return
    this.#tell(error)
    this.#close()
    for (const request of this.#all) request.isCovered = false
    this.#beginIn(retryMs)
  }

  #tell(error: Error): void {
    const { clock, telemetry } = this.#options
    this.trouble = error.message
    if (!this.#told.isNew(error.message, clock.monotonic())) return
    telemetry.emit('evidence.unavailable', { ...this.#tp, error })
  }

  #close(): void {
    this.#cancelBegin?.()
    this.#cancelBegin = null
    void this.#reading?.follower.then(follower => follower?.close())
    this.#reading = null
  }

  async #look(reading: Reading, records: readonly BusRecord[]): Promise<void> {
    reading.isLooking = true
    for (const record of records) {
      if (this.#reading !== reading) return
      const { key } = record
      const wanted = key && this.#requests.get(key.toString())
      if (wanted) await this.#contained(record, [...wanted], reading)
      reading.readTo = Math.max(reading.readTo, record.timestamp)
    }
    reading.isLooking = false
  }

  /** The boundary around one status: one that our code fails on proves nothing. */
  #contained(record: BusRecord, wanted: readonly PartitionRequest[], reading: Reading): Promise<void> {
    const place = { ...this.#tp, offset: record.offset }
    const consider = () => this.#consider(record, wanted, reading)
    return containAsync(this.#options.telemetry, 'status', place, consider, () => {})
  }

  async #consider(record: BusRecord, wanted: readonly PartitionRequest[], reading: Reading): Promise<void> {
    const { decoder, clock } = this.#options
    const decoded = await decodePatiently(decoder, record.value, clock, () => this.#reading === reading)
    if (!decoded) return
    const isUnread = !decoded.ok && isReadableLater(decoded.error)
    if (isUnread) this.#tell(new Error(decoded.error.message))
    for (const { unread } of wanted) {
      if (isUnread) unread.set(record.offset, record)
      else unread.delete(record.offset)
    }
    if (!decoded.ok || !provesSending(decoded.value)) return
    for (const one of wanted) if (one.account === decoded.value.account) one.found(decoded.value)
  }
}

/** A poll that was given up proves nothing, nor does an event from an account's address, which may be about any message. */
function provesSending({ verified, source, state }: StatusEvent): boolean {
  return verified && (source === 'CALLBACK' || state !== 'UNKNOWN')
}
