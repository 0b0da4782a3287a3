import { backOffMs } from '../../back-off.ts'
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
  /** Ends all reading, and every pause at once. */
  closing: AbortSignal
}

/** Backs off, longer after each further failure in a row, then refreshes metadata. */
export async function backOff({ brokers, clock, closing }: ReadOptions, failures: number): Promise<void> {
  await sleep(clock, backOffMs(firstBackOffMs, longestBackOffMs, failures), closing)
  if (!closing.aborted) await brokers.refresh().catch(() => {}) // the retry will show what is wrong
}

export function reportUnread({ telemetry, closing }: ReadOptions, names: string, text: string): void {
  if (closing.aborted) return
  telemetry.emit('bus.log', { level: 'warn', message: `cannot read ${names} now: ${text}` })
}
