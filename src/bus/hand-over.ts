import { type Clock, sleep } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { BusRecord, OnRecords } from './port.ts'

export interface HandOverOptions {
  /** The partition, for people. */
  name: string
  /** The offset the follower begins at. */
  start: number
  onRecords: OnRecords
  clock: Clock
  telemetry: Telemetry
}

const againAfterMs = 1000

/** HandOver is what one follower was given, and who waits for it to be given more: the same on every bus. */
export class HandOver {
  readonly #options: HandOverOptions
  #waiting: { offset: number; resolve: () => void }[] = []
  /** Everything before this offset was taken. */
  #next: number
  closed = false

  constructor(options: HandOverOptions) {
    this.#options = options
    this.#next = options.start
  }

  /**
   * Resolves when the records were taken, or the follower was closed. One call at a time.
   * @param next the offset to go on from
   */
  async take(records: readonly BusRecord[], next: number): Promise<void> {
    this.#tellUnreadable(records)
    if (records.length > 0) await this.#untilTaken(records)
    this.#next = next
    this.#release()
  }

  /** See Follower.position. */
  get position(): number {
    return this.#next
  }

  /** Resolves when everything before the offset was taken, or the follower is closed. */
  reached(offset: number): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push({ offset, resolve })
      this.#release()
    })
  }

  /** The log was cut, or made anew: it goes on from another offset, and ends at this one. */
  moved(next: number, end: number): void {
    this.#next = next
    for (const one of this.#waiting) one.offset = Math.min(one.offset, end)
    this.#release()
  }

  close(): void {
    this.closed = true
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
        const message = `records of ${name} could not be worked on: they are handed over until they can`
        if (attempt === 1) telemetry.emit('bus.log', { level: 'error', message, error: String(error) })
        await sleep(clock, againAfterMs)
      }
    }
  }

  #release(): void {
    const due = this.#waiting.filter(({ offset }) => this.closed || offset <= this.#next)
    this.#waiting = this.#waiting.filter(one => !due.includes(one))
    for (const { resolve } of due) resolve()
  }
}
