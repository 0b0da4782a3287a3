/** CallbackTrouble is what becomes of callbacks on their way: shares of all messages, 0 to 1, chosen by the seed. */
export interface CallbackTrouble {
  /** The share that is never sent; the status operation tells. */
  drop?: number
  /** Sent `lateMs` after their time. */
  late?: number
  /** Default 1000. */
  lateMs?: number
  /** Sent twice. */
  repeat?: number
}

/**
 * Tells when a message's callbacks are sent.
 * @param times milliseconds from now, one for each callback
 * @param chance 0 to 1, the message's own
 */
export function troubled(times: readonly number[], trouble: CallbackTrouble, chance: number): number[] {
  const { drop = 0, late = 0, lateMs = 1000, repeat = 0 } = trouble
  if (chance < drop) return []
  if (chance < drop + late) return times.map(time => time + lateMs)
  return chance < drop + late + repeat ? [...times, ...times] : [...times]
}
