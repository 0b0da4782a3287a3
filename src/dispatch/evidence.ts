import { partitionOf } from '../bus/murmur2.ts'
import type { Bus, BusRecord, Follower } from '../bus/port.ts'
import { type Clock, sleep } from '../clock.ts'
import type { Decoder } from '../records/decoder.ts'
import type { StatusEvent } from '../records/generated.ts'
import { decodePatiently } from '../records/patient.ts'
import type { Telemetry } from '../telemetry/events.ts'

export interface EvidenceOptions {
  bus: Pick<Bus, 'follow'>
  topic: string
  partitions: number
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

/** Clocks of producers differ by less than this. */
const skewMs = 60_000
/** New doubts come in bursts: the statuses before them are read again at most this often. */
const rewindMs = 1000
/** And when they could not be read, after this long, or when a doubt is to be decided. */
const retryMs = 30_000
/** The gateway's answer decides when the statuses cannot be read for this long. */
const patienceMs = 10_000

/**
 * Callbacks as evidence: a verified status event proves that its message was sent. The statuses are read only while
 * something is in doubt, from the oldest doubt's time on.
 */
export class Evidence {
  readonly #options: EvidenceOptions
  readonly #searches = new Map<number, Search>()

  constructor(options: EvidenceOptions) {
    this.#options = options
  }

  /** @returns ends the search; to be called in the end, whether it was found or not */
  seek(wanted: Wanted): () => void {
    const partition = partitionOf(Buffer.from(wanted.id), this.#options.partitions)
    const search = this.#searches.get(partition) ?? new Search(partition, this.#options)
    this.#searches.set(partition, search)
    return search.add(wanted)
  }

  /** Resolves when every status event that was there at the call has been looked at, or when they cannot be read. */
  async upToNow(id: string): Promise<void> {
    const { clock, partitions } = this.#options
    const search = this.#searches.get(partitionOf(Buffer.from(id), partitions))
    if (search) await Promise.race([search.upToNow(), sleep(clock, patienceMs)])
  }
}

/** The search through one partition of the statuses. */
class Search {
  readonly #options: EvidenceOptions
  readonly #partition: number
  readonly #wanted = new Map<string, Set<Wanted>>()
  #reading: Promise<Follower | null> | null = null
  /** Timestamp of the last record that was looked at. */
  #readTo = Number.NEGATIVE_INFINITY
  /** The oldest time that was asked for after it had been passed, or that could not be read from. */
  #missed = Number.POSITIVE_INFINITY
  #cancelRewind = () => {}

  constructor(partition: number, options: EvidenceOptions) {
    this.#partition = partition
    this.#options = options
  }

  add(wanted: Wanted): () => void {
    const ofId = this.#wanted.get(wanted.id) ?? new Set()
    this.#wanted.set(wanted.id, ofId.add(wanted))
    const since = wanted.since - skewMs
    if (!this.#reading && this.#missed === Number.POSITIVE_INFINITY) this.#readFrom(since)
    else if (since < this.#readTo) this.#missedFrom(since, rewindMs)
    return () => {
      ofId.delete(wanted)
      if (ofId.size === 0 && this.#wanted.get(wanted.id) === ofId) this.#wanted.delete(wanted.id)
      if (this.#wanted.size === 0) this.#stop()
    }
  }

  async upToNow(): Promise<void> {
    if (this.#missed < Number.POSITIVE_INFINITY) this.#rewind()
    const reading = this.#reading
    const follower = await reading
    await follower?.caughtUp()
    if (this.#reading && this.#reading !== reading) await this.upToNow() // it began anew meanwhile
  }

  #missedFrom(since: number, waitMs: number): void {
    if (this.#missed === Number.POSITIVE_INFINITY) {
      this.#cancelRewind = this.#options.clock.after(waitMs, () => this.#rewind())
    }
    this.#missed = Math.min(this.#missed, since)
  }

  #rewind(): void {
    const since = this.#missed
    this.#stop()
    this.#readFrom(since)
  }

  #readFrom(since: number): void {
    const { bus, topic, telemetry } = this.#options
    const tp = { topic, partition: this.#partition }
    this.#readTo = since
    const reading: Promise<Follower | null> = bus
      .follow(tp, since, records => (this.#reading === reading ? this.#look(records) : undefined))
      .catch(error => {
        telemetry.emit('evidence.unavailable', { ...tp, error })
        if (this.#reading === reading) {
          this.#reading = null
          this.#missedFrom(since, retryMs)
        }
        return null
      })
    this.#reading = reading
  }

  #stop(): void {
    const reading = this.#reading
    this.#reading = null
    this.#missed = Number.POSITIVE_INFINITY
    this.#cancelRewind()
    void reading?.then(follower => follower?.close())
  }

  async #look(records: readonly BusRecord[]): Promise<void> {
    for (const record of records) {
      const wanted = record.key && this.#wanted.get(record.key.toString())
      if (wanted) await this.#consider(record, wanted)
      this.#readTo = Math.max(this.#readTo, record.timestamp)
    }
  }

  async #consider(record: BusRecord, wanted: ReadonlySet<Wanted>): Promise<void> {
    const { decoder, clock } = this.#options
    const event = await decodePatiently(decoder, record.value, clock, () => this.#wanted.size > 0)
    if (!event || !provesSending(event)) return
    for (const one of [...wanted]) if (one.account === event.account) one.found(event)
  }
}

/** A poll that was given up says nothing; an event from an account's own address may be about any message. */
function provesSending({ verified, source, state }: StatusEvent): boolean {
  return verified && (source === 'CALLBACK' || state !== 'UNKNOWN')
}
