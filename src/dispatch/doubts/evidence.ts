import type { Bus, BusRecord, Follower, TopicPartition } from '../../bus/port.ts'
import { type Clock, limited, stopwatch } from '../../clock.ts'
import type { Decoder } from '../../records/decoder.ts'
import type { StatusEvent } from '../../records/generated.ts'
import { decodePatiently, isReadableLater } from '../../records/patient.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { StatusPartitions } from './status-partitions.ts'

export interface EvidenceOptions {
  bus: Pick<Bus, 'follow' | 'partitions'>
  topic: string
  decoder: Decoder<StatusEvent>
  clock: Clock
  telemetry: Telemetry
}

/** A message of which a status event would prove that it was sent. */
export interface Wanted {
  /** The caller's id, as decimal text. */
  id: string
  account: string
  /** Milliseconds since 1970: no event about it can be older. */
  since: number
  found: (event: StatusEvent) => void
}

/** The search for one message. */
export interface Seeking {
  /**
   * @returns true when every status event that was there at the call has been looked at, or when they may not be read;
   *   false when neither is so within this time
   */
  upToNow(limitMs: number): Promise<boolean>
  /** Whether `upToNow` was true shortly before, and what has come since is being listened to. */
  readonly isUpToNow: boolean
  /** It is called in the end, whether evidence was found or not. */
  end(): void
}

/** The clocks of busgate's processes differ by less than this. */
const skewMs = 60_000
/** New doubts come in bursts: the statuses before them are looked at again at most this often. */
const lookBackMs = 1000
/** Statuses that could not be read are read again after this long, or when a doubt is to be decided or sent again. */
const retryMs = 30_000
/** What refuses to be read for so long is taken for lasting: then the gateway's answer decides. */
const refusalMs = 10_000
/** A reading that shows nothing for so long while it is waited for begins anew: a right that was lost shows there. */
const stallMs = 10_000
/** A connection to the gateway is there within this time; whoever was frozen for longer has to listen again. */
const freshMs = 5000
/** Most readings of one partition at a time; they share its leader's fetches. */
const mostReadings = 4

/** The search for one message, on each partition that its events may stand on. */
interface Hunt {
  wanted: Wanted
  parts: Map<number, Seeking>
}

/**
 * Callbacks as evidence: a verified status event proves that its message was sent. The statuses are read only while
 * something is in doubt, from the oldest doubt's time on.
 */
export class Evidence {
  readonly #options: EvidenceOptions
  readonly #partitions: StatusPartitions
  readonly #searches = new Map<number, Search>()
  readonly #hunts = new Set<Hunt>()

  constructor(options: EvidenceOptions) {
    this.#options = options
    this.#partitions = new StatusPartitions({
      ...options,
      wanted: () => this.#hunts.size > 0,
      changed: () => {
        for (const hunt of this.#hunts) this.#spread(hunt)
      },
    })
  }

  /** Looks for the topic, so that its absence is told before it matters. */
  async prepare(): Promise<void> {
    await this.#partitions.look()
    this.#partitions.rest()
  }

  seek(wanted: Wanted): Seeking {
    const hunt: Hunt = { wanted, parts: new Map() }
    this.#hunts.add(hunt)
    this.#spread(hunt)
    void this.#partitions.look()
    const partitions = this.#partitions
    return {
      upToNow: limitMs => this.#upToNow(hunt, limitMs),
      get isUpToNow() {
        const parts = [...hunt.parts.values()]
        return parts.length > 0 ? parts.every(part => part.isUpToNow) : partitions.isRefused
      },
      end: () => this.#end(hunt),
    }
  }

  #spread({ wanted, parts }: Hunt): void {
    for (const partition of this.#partitions.of(wanted.id)) {
      if (!parts.has(partition)) parts.set(partition, this.#search(partition).add(wanted))
    }
  }

  #search(partition: number): Search {
    const search = this.#searches.get(partition) ?? new Search(partition, this.#options)
    this.#searches.set(partition, search)
    return search
  }

  async #upToNow({ parts }: Hunt, limitMs: number): Promise<boolean> {
    const { clock } = this.#options
    const until = clock.monotonic() + limitMs
    const known = await limited(clock, limitMs, this.#partitions.look()).catch(() => false)
    if (!known) return false
    const left = Math.max(0, until - clock.monotonic())
    const heard = await Promise.all([...parts.values()].map(part => part.upToNow(left)))
    return heard.every(Boolean)
  }

  #end(hunt: Hunt): void {
    for (const part of hunt.parts.values()) part.end()
    this.#hunts.delete(hunt)
    if (this.#hunts.size === 0) this.#partitions.rest()
  }
}

/** Sought is what is wanted, and the one reading that has looked or will look at all that can be about it. */
interface Sought extends Wanted {
  /** null: none has begun yet. */
  reading: StatusReading | null
  /** Milliseconds since all that was there had been looked at; null: it never was. */
  sinceHeard: (() => number) | null
  /** Events about it that could not be read yet, by their offsets: the registry does not have their schema. */
  unread: Map<number, BusRecord>
}

interface StatusReading {
  sought: Set<Sought>
  /** null: it was refused. */
  follower: Promise<Follower | null>
  /** The question that was put to the follower in this turn of the event loop. */
  caughtUp: Promise<void> | null
  /** Greatest timestamp of the records that were looked at. */
  readTo: number
  /** Records that were looked at. */
  looked: number
}

/**
 * The search through one partition of the statuses. One reading follows its end. Whatever is in doubt later has others
 * look back, beside it; when they have come to the end too, that one serves all of them.
 */
class Search {
  readonly #options: EvidenceOptions
  readonly #tp: TopicPartition
  readonly #wanted = new Map<string, Set<Sought>>()
  readonly #readings = new Set<StatusReading>()
  /** The one that has come to the end and goes on. */
  #tail: StatusReading | null = null
  #cancelBegin: (() => void) | null = null
  /** Monotonic milliseconds of the first refusal; null: the last reading that tried could begin. */
  #refusedAt: number | null = null
  /** Whether it was refused again long after. */
  #isRefused = false

  constructor(partition: number, options: EvidenceOptions) {
    this.#tp = { topic: options.topic, partition }
    this.#options = options
  }

  add(wanted: Wanted): Seeking {
    const sought: Sought = {
      ...wanted,
      since: wanted.since - skewMs,
      reading: null,
      sinceHeard: null,
      unread: new Map(),
    }
    const ofId = this.#wanted.get(wanted.id) ?? new Set()
    this.#wanted.set(wanted.id, ofId.add(sought))
    const reading = [...this.#readings].find(({ readTo }) => readTo <= sought.since)
    if (reading) assign(sought, reading)
    else if (this.#readings.size > 0) this.#beginIn(lookBackMs)
    else if (!this.#cancelBegin) this.#begin()
    const search = this
    return {
      upToNow: limitMs => this.#upToNow(sought, limitMs),
      get isUpToNow() {
        return search.#isUpToNow(sought)
      },
      end: () => this.#end(sought),
    }
  }

  #isUpToNow({ reading, sinceHeard, unread }: Sought): boolean {
    if (this.#isRefused) return true
    return reading !== null && unread.size === 0 && sinceHeard !== null && sinceHeard() < freshMs
  }

  #upToNow(sought: Sought, limitMs: number): Promise<boolean> {
    return new Promise(resolve => {
      const cancel = this.#options.clock.after(limitMs, () => resolve(false))
      void this.#hear(sought).then(heard => {
        cancel()
        resolve(heard)
      })
    })
  }

  async #hear(sought: Sought): Promise<boolean> {
    if (this.#isRefused) return true
    if (!sought.reading) this.#begin()
    const { reading } = sought
    const follower = await reading?.follower
    if (!reading || !follower) return this.#isRefused
    await this.#untilCaughtUp(reading, follower)
    if (sought.reading !== reading) return sought.reading ? this.#hear(sought) : false
    for (const record of [...sought.unread.values()]) await this.#consider(record, [sought], reading)
    if (sought.unread.size > 0) return false
    sought.sinceHeard = stopwatch(this.#options.clock)
    return true
  }

  /** Resolves when it has read what is there now, or is read no more. All that ask at once have one answer. */
  #untilCaughtUp(reading: StatusReading, follower: Follower): Promise<void> {
    if (!reading.caughtUp) {
      reading.caughtUp = this.#catchUp(reading, follower)
      queueMicrotask(() => {
        reading.caughtUp = null
      })
    }
    return reading.caughtUp
  }

  async #catchUp(reading: StatusReading, follower: Follower): Promise<void> {
    const { looked } = reading
    const cancel = this.#options.clock.after(stallMs, () => {
      if (reading.looked === looked) this.#lose(reading, 0)
    })
    await follower.caughtUp().catch(error => this.#refuse(reading, error))
    cancel()
  }

  #end(sought: Sought): void {
    const { reading, id } = sought
    const ofId = this.#wanted.get(id)
    ofId?.delete(sought)
    if (ofId?.size === 0) this.#wanted.delete(id)
    sought.reading = null
    reading?.sought.delete(sought)
    if (reading?.sought.size === 0) this.#close(reading)
    if (this.#wanted.size > 0) return
    this.#cancelBegin?.()
    this.#cancelBegin = null
    this.#refusedAt = null
    this.#isRefused = false
  }

  #unread(): Sought[] {
    return [...this.#wanted.values()].flatMap(ofId => [...ofId]).filter(({ reading }) => !reading)
  }

  #beginIn(ms: number): void {
    this.#cancelBegin ??= this.#options.clock.after(ms, () => this.#begin())
  }

  /** Reads what no reading has looked at for those that came after it had been passed. */
  #begin(): void {
    this.#cancelBegin?.()
    this.#cancelBegin = null
    const unread = this.#unread()
    if (unread.length === 0 || this.#readings.size >= mostReadings) return
    const since = unread.reduce((least, sought) => Math.min(least, sought.since), Number.POSITIVE_INFINITY)
    const reading: StatusReading = { sought: new Set(), follower: noFollower, caughtUp: null, readTo: since, looked: 0 }
    this.#readings.add(reading)
    for (const sought of unread) assign(sought, reading)
    reading.follower = this.#options.bus
      .follow(this.#tp, since, records => this.#look(reading, records))
      .then(
        follower => {
          this.#refusedAt = null
          this.#isRefused = false
          void this.#join(reading, follower)
          return follower
        },
        error => {
          this.#refuse(reading, error)
          return null
        },
      )
  }

  /** Come to the end, it hands those that it serves over to the one that had been there before. */
  async #join(reading: StatusReading, follower: Follower): Promise<void> {
    while (this.#readings.has(reading)) {
      const tail = this.#tail
      await this.#untilCaughtUp(reading, follower)
      if (!this.#readings.has(reading) || tail !== this.#tail) continue // the other one may have begun further on
      this.#tail ??= reading
      if (this.#tail === reading) return
      for (const sought of reading.sought) assign(sought, this.#tail)
      this.#close(reading)
    }
  }

  #refuse(reading: StatusReading, error: Error): void {
    const { clock, telemetry } = this.#options
    if (!this.#readings.has(reading)) return
    telemetry.emit('evidence.unavailable', { ...this.#tp, error })
    this.#refusedAt ??= clock.monotonic()
    this.#isRefused = clock.monotonic() - this.#refusedAt >= refusalMs
    this.#lose(reading, retryMs)
  }

  #lose(reading: StatusReading, retryInMs: number): void {
    if (!this.#readings.has(reading)) return
    for (const sought of reading.sought) sought.reading = null
    this.#beginIn(retryInMs)
    this.#close(reading)
  }

  #close(reading: StatusReading): void {
    this.#readings.delete(reading)
    if (this.#tail === reading) this.#tail = null
    void reading.follower.then(follower => follower?.close())
    if (this.#unread().length > 0) this.#beginIn(lookBackMs) // there may have been too many readings for them
  }

  async #look(reading: StatusReading, records: readonly BusRecord[]): Promise<void> {
    for (const record of records) {
      if (!this.#readings.has(reading)) return
      const { key } = record
      const wanted = key && this.#wanted.get(key.toString())
      if (wanted) await this.#consider(record, [...wanted], reading)
      reading.readTo = Math.max(reading.readTo, record.timestamp)
      reading.looked++
    }
  }

  async #consider(record: BusRecord, wanted: readonly Sought[], reading: StatusReading): Promise<void> {
    const { decoder, clock, telemetry } = this.#options
    const decoded = await decodePatiently(decoder, record.value, clock, () => this.#readings.has(reading))
    if (!decoded) return
    const isUnread = !decoded.ok && isReadableLater(decoded.error)
    const isNews = wanted.some(({ unread }) => !unread.has(record.offset))
    if (isUnread && isNews)
      telemetry.emit('evidence.unavailable', { ...this.#tp, error: new Error(decoded.error.message) })
    for (const { unread } of wanted) {
      if (isUnread) unread.set(record.offset, record)
      else unread.delete(record.offset)
    }
    if (!decoded.ok || !provesSending(decoded.value)) return
    for (const one of wanted) if (one.account === decoded.value.account) one.found(decoded.value)
  }
}

const noFollower = Promise.resolve(null)

function assign(sought: Sought, reading: StatusReading): void {
  sought.reading = reading
  reading.sought.add(sought)
}

/** A poll that was given up says nothing; an event from an account's own address may be about any message. */
function provesSending({ verified, source, state }: StatusEvent): boolean {
  return verified && (source === 'CALLBACK' || state !== 'UNKNOWN')
}
