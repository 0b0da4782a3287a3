import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Brokers } from '../cluster/brokers.ts'

/** The protocol's name for a partition that is not there. */
export const unknownPartition = 'UNKNOWN_TOPIC_OR_PARTITION'

/** Trouble that passes is told of when it has lasted so long: the election of a leader takes less. */
export const lastingMs = 3_000

export const errorTypeOf = (error: unknown): string => (error as { type?: string }).type ?? ''
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const firstRestMs = 50
export const longestRestMs = 2000

export interface ReadingTroubleOptions {
  brokers: Pick<Brokers, 'refresh'>
  clock: Clock
  telemetry: Telemetry
}

/** Has whoever cannot read try again after a while, and tells of it, until nothing is read any more. */
export class ReadingTrouble {
  readonly #options: ReadingTroubleOptions
  readonly #closing = Promise.withResolvers<void>()
  #closed = false

  constructor(options: ReadingTroubleOptions) {
    this.#options = options
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Whoever rests goes on at once. */
  close(): void {
    this.#closed = true
    this.#closing.resolve()
  }

  /** Resolves when it may be tried again, after so many failures in a row: what is known of the cluster is new then. */
  async rest(failures: number): Promise<void> {
    const ms = Math.min(firstRestMs * 2 ** (failures - 1), longestRestMs)
    await Promise.race([sleep(this.#options.clock, ms), this.#closing.promise])
    if (!this.#closed) await this.#options.brokers.refresh().catch(() => {}) // what it cannot find out, the next attempt shows
  }

  tell(names: string, text: string): void {
    if (this.#closed) return
    this.#options.telemetry.emit('bus.log', { level: 'warn', message: `cannot read ${names} now: ${text}` })
  }
}
