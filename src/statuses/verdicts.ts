import type { Bus, BusRecord, Follower, TopicPartition } from '../bus/port.ts'
import { appendedBy } from '../bus/record-time.ts'
import { type Clock, sleep } from '../clock.ts'
import { type Decoder, decodePatiently } from '../records/decoder.ts'
import type { StatusEvent } from '../records/generated.ts'
import { IdTable } from '../records/id-table.ts'
import { containAsync } from '../telemetry/contain.ts'
import type { Telemetry } from '../telemetry/events.ts'

export interface VerdictsOptions {
  bus: Pick<Bus, 'follow'>
  /** A partition of the statuses. */
  tp: TopicPartition
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

/**
 * Ids with a verdict, from one partition of the statuses, in a moving window of time: from some minutes before the current
 * record to `delayMs` after it, and further as memory allows.
 */
export class Verdicts {
  readonly #options: VerdictsOptions
  readonly #sliceMs: number
  readonly #verified: VerdictIds
  readonly #unverified: VerdictIds
  #follower: Promise<Follower | null> | null = null
  /** Timestamp of the current record. */
  #at = Number.NEGATIVE_INFINITY
  /** Timestamp of the status beyond the window at which reading waits. */
  #heldAt: number | null = null
  /** Called when the window moves, and on close. */
  #moved = () => {}
  /** Called when reading waits for the window, and on close. */
  #held = () => {}
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
      this.#moved()
    }
    for (;;) {
      this.#follower ??= this.#follow(timestamp - aheadMs)
      const follower = await this.#follower
      if (this.#closed) return
      if (follower && (await this.#readToTheEnd(follower))) return
    }
  }

  /** Resolves at the end of the window or of the log. @returns false if the end cannot be looked up: follow again */
  async #readToTheEnd(follower: Follower): Promise<boolean> {
    if (this.#heldAt !== null && this.#heldAt > this.#horizon()) return true
    const { promise: held, resolve } = Promise.withResolvers<void>()
    this.#held = resolve
    try {
      await Promise.race([follower.caughtUp(), held])
      return true
    } catch (error) {
      void follower.close()
      await this.#backOff(error as Error)
      return false
    }
  }

  close(): void {
    this.#closed = true
    this.#moved()
    this.#held()
    void this.#follower?.then(follower => follower?.close())
  }

  async #follow(from: number): Promise<Follower | null> {
    const { bus, tp } = this.#options
    try {
      return await bus.follow(tp, from, records => this.#take(records))
    } catch (error) {
      await this.#backOff(error as Error)
      return null
    }
  }

  async #backOff(error: Error): Promise<void> {
    const { tp, clock, telemetry } = this.#options
    telemetry.emit('statuses.unreadable', { ...tp, error })
    await sleep(clock, retryMs)
    this.#follower = null
  }

  async #take(records: readonly BusRecord[]): Promise<void> {
    const { clock, telemetry, tp } = this.#options
    for (const record of records) {
      const at = appendedBy(record.timestamp, clock.now()) // the writer's clock may be ahead
      while (!this.#closed && this.#isTooFarAhead(at)) await this.#waitAt(at)
      if (this.#closed) return
      const place = { ...tp, offset: record.offset }
      await containAsync(
        telemetry,
        'status',
        place,
        () => this.#read(record, at),
        () => {},
      )
    }
  }

  async #read({ value }: BusRecord, at: number): Promise<void> {
    const { decoder, clock } = this.#options
    const event = await decodePatiently(decoder, value, clock, () => !this.#closed)
    if (!this.#closed && event?.ok && event.value.final) this.#remember(event.value, at)
  }

  #isTooFarAhead(timestamp: number): boolean {
    return timestamp > this.#horizon() && this.#verified.size + this.#unverified.size >= mostIdsAhead
  }

  #horizon(): number {
    return this.#at + this.#options.delayMs + 2 * this.#sliceMs
  }

  async #waitAt(timestamp: number): Promise<void> {
    this.#heldAt = timestamp
    this.#held()
    await new Promise<void>(resolve => {
      this.#moved = resolve
    })
    this.#heldAt = null
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
  }
}

/** Ids of messages by the time slice of their verdict; beyond the limit, the oldest slices are forgotten. */
export class VerdictIds {
  size = 0
  readonly #most: number
  /** Ids by time slice and account. */
  readonly #slices = new Map<number, Map<string, IdTable>>()

  constructor(most: number) {
    this.#most = most
  }

  has(account: string, id: bigint): boolean {
    for (const slice of this.#slices.values()) if (slice.get(account)?.has(id)) return true
    return false
  }

  /** @returns number of ids forgotten to make room */
  add(account: string, id: bigint, number: number): number {
    const slice = this.#slices.get(number) ?? new Map<string, IdTable>()
    this.#slices.set(number, slice)
    const ids = slice.get(account) ?? new IdTable()
    slice.set(account, ids)
    if (ids.add(id)) this.size++
    return this.size > this.#most ? this.#forget(Math.min(...this.#slices.keys())) : 0
  }

  forgetBefore(first: number): void {
    for (const number of this.#slices.keys()) if (number < first) this.#forget(number)
  }

  #forget(number: number): number {
    const count = [...(this.#slices.get(number)?.values() ?? [])].reduce((sum, { size }) => sum + size, 0)
    this.#slices.delete(number)
    this.size -= count
    return count
  }
}
