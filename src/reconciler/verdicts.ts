import { type Counts, type KeyedTopic, mayHold, partitionsSharingKeys } from '../bus/keyed-topic.ts'
import type { Bus, BusRecord } from '../bus/port.ts'
import { type Clock, sleep } from '../clock.ts'
import { type Decoder, decodePatiently, isReadableLater } from '../records/decoder.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { IdTable, messageKey } from '../records/id-table.ts'
import { containAsync } from '../telemetry/contain.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { StatusReading } from './status-reading.ts'
import { placesOf, readAgain, type StatusPlace, UnreadStatuses } from './unread-statuses.ts'

export interface VerdictsOptions {
  bus: Pick<Bus, 'follow' | 'recordsAt'>
  statuses: KeyedTopic
  /** The topic of the messages, and the partition that holds them. */
  messages: KeyedTopic
  partition: number
  decoder: Decoder<StatusEvent>
  /** How long after its record a message is handled. */
  delayMs: number
  clock: Clock
  telemetry: Telemetry
  /** Most ids in memory, 16 to 32 bytes each. Default: 2,097,152, at most 64 MiB. */
  mostIds?: number
}

/** How long before a message's result its callback may be written, since doubts are resolved minutes later. */
const aheadMs = 5 * 60_000
/** Number of time slices per `delayMs`. The window moves by slices. */
const slicesPerDelay = 8
const leastSliceMs = 5_000
const usualMostIds = 2 << 20
/**
 * Share of the memory for verdicts from accounts' addresses. Limited separately, because strangers who know an address can send
 * any id.
 */
const unverifiedShare = 1 / 4
/** With fewer ids than this in memory, reading continues beyond the window: late lookups benefit from later verdicts. */
const mostIdsAhead = 1 << 18
const retryMs = 5_000
/** Greatest age of a known number of partitions. */
const mostAgeMs = 1000

/**
 * Ids with a verdict that messages of one partition may have, in a moving window of time: from some minutes before the current
 * record to `delayMs` after it, and further as memory allows. Reads each partition of the statuses that may hold their events.
 */
export class Verdicts {
  readonly #options: VerdictsOptions
  readonly #sliceMs: number
  readonly #verified: VerdictIds
  readonly #unverified: VerdictIds
  readonly #unread = new UnreadStatuses()
  /** By partition of the statuses. */
  readonly #readings = new Map<number, StatusReading>()
  /** By which the partition of the messages may have been chosen. */
  #counts: Counts | null = null
  /** Of the topic of the messages, when the partitions to read were last chosen. */
  #version: number | null = null
  /** Timestamp of the current record. */
  #at = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(options: VerdictsOptions) {
    const { mostIds = usualMostIds } = options
    this.#options = options
    this.#verified = new VerdictIds(mostIds * (1 - unverifiedShare))
    this.#unverified = new VerdictIds(mostIds * unverifiedShare)
    this.#sliceMs = Math.max(leastSliceMs, options.delayMs / slicesPerDelay)
  }

  /** @param unhooked whether the message had no callback address of its own, so that unverified events count too */
  has(account: string, id: bigint, unhooked: boolean): boolean {
    return this.#verified.has(account, id) || (unhooked && this.#unverified.has(account, id))
  }

  /**
   * Reads status events about a message again whose schema was missing.
   * @param known places of such events, in addition to those that this reading came across
   * @returns whether one of them gives its verdict; else those that still cannot be read; unknown after `close`
   */
  readAgain(result: SendResult, known: readonly StatusPlace[]): Promise<'verdict' | StatusPlace[]> {
    const { decoder, clock } = this.#options
    const recordAt = (place: StatusPlace) => this.#recordAt(place)
    const places = placesOf([...known, ...this.#unread.of(String(result.id))])
    return readAgain({ recordAt, decoder, clock, wanted: () => !this.#closed }, places, result)
  }

  /** @returns undefined if the record is gone, or after `close` */
  async #recordAt({ partition, offset }: StatusPlace): Promise<BusRecord | undefined> {
    const { bus, statuses } = this.#options
    while (!this.#closed) {
      const found = await this.#tried(partition, bus.recordsAt({ topic: statuses.name, partition }, [offset]))
      if (found) return found.records[0]
    }
    return undefined
  }

  /** Largest difference in time, in milliseconds, of messages that are looked up together. */
  get stepMs(): number {
    return this.#sliceMs
  }

  /**
   * Moves the window to this time. Resolves when every verdict until `delayMs` after it is known. Call it again only then, with
   * a time that does not decrease; otherwise a message may seem to have no verdict.
   */
  async moveTo(timestamp: number): Promise<void> {
    if (timestamp > this.#at) {
      this.#at = timestamp
      this.#forgetBefore(timestamp - aheadMs)
      for (const reading of this.#readings.values()) reading.moved()
    }
    while (!this.#closed) {
      const { partition } = this.#options
      const isChosen = await this.#tried(
        partition,
        this.#choosePartitions(timestamp).then(() => true),
      )
      if (!isChosen) continue
      const ends = Array.from(this.#readings, ([partition, reading]) => this.#readToTheEnd(partition, reading))
      if ((await Promise.all(ends)).every(Boolean)) return
    }
  }

  close(): void {
    this.#closed = true
    this.#closeAllBut(new Set())
  }

  async #choosePartitions(timestamp: number): Promise<void> {
    const { messages, statuses, partition, delayMs, clock } = this.#options
    const maxAgeMs = Math.min(mostAgeMs, Math.max(0, clock.now() - timestamp - delayMs))
    await Promise.all([messages.look(maxAgeMs), statuses.look(maxAgeMs)])
    if (this.#closed) return
    if (messages.partitions <= partition) throw new Error(`no broker knows of ${messages.name}/${partition} yet`)
    // ids that may be here since partitions were added were passed over
    if (messages.version !== this.#version) this.#closeAllBut(new Set())
    this.#version = messages.version
    const from = timestamp - aheadMs
    this.#counts = messages.countsSince(from)
    const wanted = partitionsSharingKeys(partition, this.#counts, statuses.countsSince(from))
    this.#closeAllBut(wanted)
    for (const one of wanted) if (!this.#readings.has(one)) this.#readings.set(one, this.#read(one, from))
  }

  #closeAllBut(wanted: ReadonlySet<number>): void {
    for (const [partition, reading] of this.#readings) {
      if (wanted.has(partition)) continue
      reading.close()
      this.#readings.delete(partition)
    }
  }

  #read(partition: number, from: number): StatusReading {
    const { bus, statuses, clock, telemetry } = this.#options
    const tp = { topic: statuses.name, partition }
    return new StatusReading({
      follow: onRecords => bus.follow(tp, from, onRecords),
      isTooFarAhead: at => this.#isTooFarAhead(at),
      take: (record, at) => {
        const place = { ...tp, offset: record.offset }
        return containAsync(
          telemetry,
          'status',
          place,
          () => this.#note(record, at, partition),
          () => {},
        )
      },
      clock,
    })
  }

  async #readToTheEnd(partition: number, reading: StatusReading): Promise<boolean> {
    const isRead = await this.#tried(
      partition,
      reading.toTheEnd().then(() => true),
    )
    if (isRead) return true
    reading.close()
    this.#readings.delete(partition)
    return false
  }

  /** @returns null after an error and a wait */
  async #tried<T>(partition: number, trying: Promise<T>): Promise<T | null> {
    try {
      return await trying
    } catch (error) {
      const { statuses, clock, telemetry } = this.#options
      telemetry.emit('statuses.unreadable', { topic: statuses.name, partition, error: error as Error })
      await sleep(clock, retryMs)
      return null
    }
  }

  async #note({ key, value, offset }: BusRecord, at: number, from: number): Promise<void> {
    const { decoder, clock, partition, telemetry, statuses } = this.#options
    const read = () => decodePatiently(decoder, value, clock, () => !this.#closed)
    let event = await read()
    while (event && !event.ok && isReadableLater(event.error) && !this.#closed) {
      if (key === null || !this.#unread.isFull) {
        if (key) this.#unread.add(key.toString(), { partition: from, offset }, at)
        return
      }
      const error = new Error(`offset ${offset}: ${event.error.message}`)
      telemetry.emit('statuses.unreadable', { topic: statuses.name, partition: from, error })
      await sleep(clock, retryMs)
      event = await read()
    }
    if (!event?.ok || !event.value.final) return
    if (mayHold(partition, String(event.value.id), this.#counts!)) this.#remember(event.value, at)
  }

  #isTooFarAhead(timestamp: number): boolean {
    const horizon = this.#at + this.#options.delayMs + 2 * this.#sliceMs
    return timestamp > horizon && this.#verified.size + this.#unverified.size >= mostIdsAhead
  }

  #remember({ account, id, verified }: StatusEvent, timestamp: number): void {
    const ids = verified ? this.#verified : this.#unverified
    const count = ids.add(account, id, Math.floor(timestamp / this.#sliceMs))
    if (count > 0) this.#options.telemetry.emit('verdicts.forgotten', { count })
  }

  #forgetBefore(timestamp: number): void {
    const first = Math.floor(timestamp / this.#sliceMs)
    this.#verified.forgetBefore(first)
    this.#unverified.forgetBefore(first)
    this.#unread.forgetBefore(timestamp)
  }
}

/** Messages by the time slice of their verdict; beyond the limit, the oldest slices are forgotten. */
export class VerdictIds {
  size = 0
  readonly #most: number
  readonly #slices = new Map<number, IdTable>()

  constructor(most: number) {
    this.#most = most
  }

  has(account: string, id: bigint): boolean {
    const key = messageKey(account, id)
    for (const slice of this.#slices.values()) if (slice.has(key)) return true
    return false
  }

  /** @returns number of ids forgotten to make room */
  add(account: string, id: bigint, number: number): number {
    const slice = this.#slices.get(number) ?? new IdTable()
    this.#slices.set(number, slice)
    if (slice.add(messageKey(account, id))) this.size++
    return this.size > this.#most ? this.#forget(Math.min(...this.#slices.keys())) : 0
  }

  forgetBefore(first: number): void {
    for (const number of this.#slices.keys()) if (number < first) this.#forget(number)
  }

  #forget(number: number): number {
    const count = this.#slices.get(number)!.size
    this.#slices.delete(number)
    this.size -= count
    return count
  }
}
