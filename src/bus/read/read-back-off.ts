import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Brokers } from '../cluster/brokers.ts'

export const unknownPartition = 'UNKNOWN_TOPIC_OR_PARTITION'

/** Transient errors are reported only after this time; a leader election takes less. */
export const lastingMs = 3_000

export const errorTypeOf = (error: unknown): string => (error as { type?: string }).type ?? ''
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const firstBackOffMs = 50
export const longestBackOffMs = 2000

/** What everything that reads needs. */
export interface ReadOptions {
  brokers: Brokers
  clock: Clock
  telemetry: Telemetry
}

/** Back-off and log lines of failed reads; closing ends all pauses at once. */
export class ReadBackOff {
  readonly #options: ReadOptions
  readonly #closing = Promise.withResolvers<void>()
  closed = false

  constructor(options: ReadOptions) {
    this.#options = options
  }

  /** Ends all pauses. */
  close(): void {
    this.closed = true
    this.#closing.resolve()
  }

  /** Backs off after this many consecutive failures, then refreshes metadata. */
  async backOff(failures: number): Promise<void> {
    const ms = Math.min(firstBackOffMs * 2 ** (failures - 1), longestBackOffMs)
    await Promise.race([sleep(this.#options.clock, ms), this.#closing.promise])
    if (!this.closed) await this.#options.brokers.refresh().catch(() => {}) // the retry will show what is wrong
  }

  report(names: string, text: string): void {
    if (this.closed) return
    this.#options.telemetry.emit('bus.log', { level: 'warn', message: `cannot read ${names} now: ${text}` })
  }
}
