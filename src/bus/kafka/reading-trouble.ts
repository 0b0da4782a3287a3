/** The protocol's name for a partition that is not there. */
export const unknownPartition = 'UNKNOWN_TOPIC_OR_PARTITION'

/** The protocol's names for what a broker says whose partition is being given to another leader. */
const leaderMoves = ['NOT_LEADER_OR_FOLLOWER', 'LEADER_NOT_AVAILABLE', 'FENCED_LEADER_EPOCH', 'UNKNOWN_LEADER_EPOCH']

/** Trouble that passes is told of when it has lasted so long: the election of a leader takes less. */
export const lastingMs = 3_000

/** Tells whether the error is over soon by itself, as a rule. */
export const passes = (error: unknown): boolean => leaderMoves.includes(errorTypeOf(error))

export const errorTypeOf = (error: unknown): string => (error as { type?: string }).type ?? ''
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const firstRestMs = 50
export const longestRestMs = 2000

/** Tells how long to wait after so many failures in a row. */
export function restMs(failures: number): number {
  return Math.min(firstRestMs * 2 ** (failures - 1), longestRestMs)
}
