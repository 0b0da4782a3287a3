import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { LogEnds } from '../driver.ts'
import { placeName } from '../partitions.ts'
import type { BusRecord, Follower, OnRecords, TopicPartition } from '../port.ts'
import type { Fetched, Reading, Reads } from './reading.ts'

export interface PartitionFollowerOptions {
  fetcher: Reads
  tp: TopicPartition
  /** The first offset. */
  start: number
  onRecords: OnRecords
  /** Looks up the end of the log for `caughtUp`, which explains `behindOpen`. */
  end(...behindOpen: Parameters<Follower['caughtUp']>): Promise<number>
  /** Closes the follower with its bus. */
  closing: AbortSignal
  clock: Clock
  telemetry: Telemetry
}

const retryAfterMs = 1000

/** Delivers a partition's records to its handler, retries a failed handler, and knows who waits for which offset. */
export class PartitionFollower implements Follower, Reading {
  readonly tp: TopicPartition
  paused = false
  /** The next offset to fetch. */
  offset: number
  /** Every record before this offset was handled. */
  position: number
  readonly #options: PartitionFollowerOptions
  readonly #close = () => void this.close()
  #waiting: { offset: number; resolve: () => void }[] = []
  #closed = false

  constructor(options: PartitionFollowerOptions) {
    const { tp, start, fetcher, closing } = options
    this.#options = options
    this.tp = tp
    this.offset = start
    this.position = start
    closing.addEventListener('abort', this.#close)
    fetcher.read(this)
  }

  /** Resolves when the handler has taken the records, or when the follower is closed. */
  async take({ records, next }: Fetched): Promise<void> {
    this.#tellUnreadable(records)
    if (records.length > 0) await this.#untilTaken(records)
    if (this.#closed) return
    this.position = next
    this.#release()
  }

  /** Continues at the start of a log that was truncated, or whose topic was recreated. No wait reaches beyond its end. */
  cut({ low, high }: LogEnds): void {
    this.offset = low
    this.position = low
    for (const one of this.#waiting) one.offset = Math.min(one.offset, high)
    this.#release()
  }

  async caughtUp(...behindOpen: Parameters<Follower['caughtUp']>): Promise<void> {
    if (this.#closed) return
    const offset = await this.#options.end(...behindOpen)
    await new Promise<void>(resolve => {
      this.#waiting.push({ offset, resolve })
      this.#release()
    })
  }

  async close(): Promise<void> {
    const { fetcher, closing } = this.#options
    this.#closed = true
    closing.removeEventListener('abort', this.#close)
    fetcher.forget(this)
    this.#release()
  }

  #tellUnreadable(records: readonly BusRecord[]): void {
    const { tp, telemetry } = this.#options
    for (const { unreadable } of records) {
      if (unreadable) telemetry.emit('bus.log', { level: 'warn', message: `${placeName(tp)}: ${unreadable.message}` })
    }
  }

  async #untilTaken(records: readonly BusRecord[]): Promise<void> {
    const { tp, onRecords, clock, telemetry } = this.#options
    for (let attempt = 1; !this.#closed; attempt++) {
      try {
        return await onRecords(records)
      } catch (error) {
        const message = `the handler failed on records of ${placeName(tp)}: they are delivered again every second until it succeeds`
        if (attempt === 1) telemetry.emit('bus.log', { level: 'error', message, error: String(error) })
        await sleep(clock, retryAfterMs)
      }
    }
  }

  #release(): void {
    const due = this.#waiting.filter(({ offset }) => this.#closed || offset <= this.position)
    this.#waiting = this.#waiting.filter(one => !due.includes(one))
    for (const { resolve } of due) resolve()
  }
}
