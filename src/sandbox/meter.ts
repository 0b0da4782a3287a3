const tickMs = 10
const ticks = 100

/** Counts over a sliding second, in steps of 10 ms. The window never exceeds a second, so it never counts too much. */
export interface Meter {
  add(count: number, now: number): void
  count(now: number): number
  max(): number
}

export function createMeter(): Meter {
  const buckets = new Uint32Array(ticks)
  let tick = 0
  let sum = 0
  let max = 0

  function advance(now: number): void {
    const target = Math.floor(now / tickMs)
    if (target - tick >= ticks) {
      buckets.fill(0)
      sum = 0
      tick = target
    }
    while (tick < target) {
      tick++
      sum -= buckets[tick % ticks]!
      buckets[tick % ticks] = 0
    }
  }

  return {
    add(count, now) {
      advance(now)
      buckets[tick % ticks]! += count
      sum += count
      if (sum > max) max = sum
    },
    count(now) {
      advance(now)
      return sum
    },
    max: () => max,
  }
}
