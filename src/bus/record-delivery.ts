import { type Clock, sleep } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { BusRecord, Follower, OnRecords } from './port.ts'

export interface RecordDeliveryOptions {
  /** The partition's name in log lines. */
  name: string
  /** The follower's first offset. */
  start: number
  onRecords: OnRecords
  /** Looks up the end of the log for `caughtUp`. */
  end(...behindOpen: Parameters<Follower['caughtUp']>): Promise<number>
  onClose(): void
  clock: Clock
  telemetry: Telemetry
}

const retryAfterMs = 1000

/** Delivers fetched records to its handler, retries a failed handler, and knows who waits for which offset. */
export class RecordDelivery implements Follower {
  readonly #options: RecordDeliveryOptions
  #waiting: { offset: number; resolve: () => void }[] = []
  /** Every record before this offset was handled. */
  position: number
  closed = false

  constructor(options: RecordDeliveryOptions) {
    this.#options = options
    this.position = options.start
  }

  /**
   * Resolves when the handler has taken the records, or when the follower is closed. One call at a time.
   * @param next the offset at which to continue
   */
  async take(records: readonly BusRecord[], next: number): Promise<void> {
    this.#tellUnreadable(records)
    if (records.length > 0) await this.#untilTaken(records)
    this.position = next
    this.#release()
  }

  async caughtUp(...behindOpen: Parameters<Follower['caughtUp']>): Promise<void> {
    if (this.closed) return
    const offset = await this.#options.end(...behindOpen)
    await new Promise<void>(resolve => {
      this.#waiting.push({ offset, resolve })
      this.#release()
    })
  }

  /**
   * Continues at another offset after the log was truncated or its topic created anew. @param end the log's end: no wait
   * reaches beyond it
   */
  moved(next: number, end: number): void {
    this.position = next
    for (const one of this.#waiting) one.offset = Math.min(one.offset, end)
    this.#release()
  }

  async close(): Promise<void> {
    this.closed = true
    this.#options.onClose()
    this.#release()
  }

  #tellUnreadable(records: readonly BusRecord[]): void {
    const { name, telemetry } = this.#options
    for (const { unreadable } of records) {
      if (unreadable) telemetry.emit('bus.log', { level: 'warn', message: `${name}: ${unreadable.message}` })
    }
  }

  async #untilTaken(records: readonly BusRecord[]): Promise<void> {
    const { name, onRecords, clock, telemetry } = this.#options
    for (let attempt = 1; !this.closed; attempt++) {
      try {
        return await onRecords(records)
      } catch (error) {
        const message = `the handler failed on records of ${name}: they are delivered again every second until it succeeds`
        if (attempt === 1) telemetry.emit('bus.log', { level: 'error', message, error: String(error) })
        await sleep(clock, retryAfterMs)
      }
    }
  }

  #release(): void {
    const due = this.#waiting.filter(({ offset }) => this.closed || offset <= this.position)
    this.#waiting = this.#waiting.filter(one => !due.includes(one))
    for (const { resolve } of due) resolve()
  }
}
