/** Pause before the next try, in milliseconds: it doubles with each failure in a row, the first of which is number 1. */
export const backOffMs = (firstMs: number, longestMs: number, failures: number): number =>
  Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30))
