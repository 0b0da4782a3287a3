/** The timestamp of a record that has none, as Kafka writes it. */
export const noTime = -1

/** The end of the last year with four digits: the microseconds and nanoseconds of today lie beyond it. */
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** A record's timestamp as it is read. Kafka takes any 64 bits; what cannot be milliseconds since 1970 counts as none. */
export function timestampOf(written: number): number {
  return written >= 0 && written <= latest ? written : noTime
}

/** Tells when a record was appended at the latest, as far as its timestamp tells at an instant when it was there. */
export function appendedBy(timestamp: number, instant: number): number {
  return timestamp === noTime ? instant : Math.min(timestamp, instant)
}
