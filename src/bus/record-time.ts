import { skewMs } from '../clock.ts'

/** Kafka's timestamp for a record without one. */
export const noTime = -1

/** Latest valid timestamp. A current time in microseconds or nanoseconds is beyond it. */
export const latestTime = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** How far a producer may date its records ahead: brokers refuse more by default, from Kafka 4.0 on. */
const mostAheadMs = 3_600_000

/**
 * The timestamp of a record that was read. Kafka accepts any 64 bits; a value that cannot be milliseconds since 1970 counts
 * as none.
 */
export function timestampOf(written: number): number {
  return written >= 0 && written <= latestTime ? written : noTime
}

/** Upper bound of the time at which a record was appended. @param instant a time at which the record was on the topic */
export function appendedBy(timestamp: number, instant: number): number {
  return timestamp === noTime ? instant : Math.min(timestamp, instant)
}

/** Start of a search for what was written after a record, milliseconds since 1970. A record that is dated ahead may have any age. */
export function searchStart(timestamp: number, now: number): number {
  return timestamp > now + skewMs ? 0 : Math.max(0, timestamp - mostAheadMs - skewMs)
}
