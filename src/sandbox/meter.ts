const tickMs = 10
const ticks = 100

/** Counts over a sliding second, in steps of 10 ms. The window never exceeds a second, so it never counts too much. */
export class Meter {
  readonly #buckets = new Uint32Array(ticks)
  #tick = 0
  #sum = 0
  /** The largest count so far. */
  max = 0

  add(count: number, now: number): void {
    this.#sum = this.count(now) + count
    this.#buckets[this.#tick % ticks]! += count
    this.max = Math.max(this.max, this.#sum)
  }

  count(now: number): number {
    const target = Math.floor(now / tickMs)
    if (target - this.#tick >= ticks) {
      this.#buckets.fill(0)
      this.#sum = 0
      this.#tick = target
    }
    while (this.#tick < target) {
      this.#tick++
      this.#sum -= this.#buckets[this.#tick % ticks]!
      this.#buckets[this.#tick % ticks] = 0
    }
    return this.#sum
  }
}
