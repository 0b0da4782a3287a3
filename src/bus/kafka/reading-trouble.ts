/** The protocol's name for a partition that is not there. */
export const unknownPartition = 'UNKNOWN_TOPIC_OR_PARTITION'

export const errorTypeOf = (error: unknown): string => (error as { type?: string }).type ?? ''
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const firstRestMs = 50
export const longestRestMs = 2000

/** Tells how long to wait after so many failures in a row. */
export function restMs(failures: number): number {
  return Math.min(firstRestMs * 2 ** (failures - 1), longestRestMs)
}
