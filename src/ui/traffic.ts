/** Milliseconds that one count covers. */
export const stepMs = 2000
/** Steps that are kept. */
export const steps = 300
/** The time that counts go back. */
export const windowMs = steps * stepMs
/** Rates are those of the last steps. */
const rateSteps = 5
/** Gateways and producers name types as they like: more than these are counted as `other`. */
const mostNames = 1000
const separator = '\u0000'

type Counts = Map<string, number>

/**
 * Traffic is what was counted in the last ten minutes, by name, in steps of two seconds: rates, sums and a line to
 * draw. Its memory is bounded by the number of names.
 */
export class Traffic {
  /** The newest last. Counting goes on in the newest one. */
  readonly #steps: Counts[] = [new Map()]
  readonly #sums: Counts = new Map()

  /**
   * @param name such as `['result', 'sms', 'SENT', '']`
   * @param over so many steps, ending with this one, in which it happened
   */
  add(name: readonly string[], by = 1, over = 1): void {
    if (by <= 0) return
    const known = name.join(separator)
    const key = this.#sums.has(known) || this.#sums.size < mostNames ? known : [name[0], 'other'].join(separator)
    const past = this.#steps.slice(-over)
    for (const step of past) step.set(key, (step.get(key) ?? 0) + by / past.length)
    this.#sums.set(key, (this.#sums.get(key) ?? 0) + by)
  }

  /** The next step begins. */
  step(): void {
    this.#steps.push(new Map())
    if (this.#steps.length <= steps) return
    for (const [key, count] of this.#steps.shift()!) {
      const left = this.#sums.get(key)! - count
      if (left > 0.5) this.#sums.set(key, left)
      else this.#sums.delete(key)
    }
  }

  /** All counts of a kind, which is the first part of their names, with the other parts. */
  counts(kind: string): { labels: string[]; count: number }[] {
    return [...this.#sums].flatMap(([key, count]) => {
      const [first, ...labels] = key.split(separator)
      return first === kind ? [{ labels, count: Math.round(count) }] : []
    })
  }

  /** The rate, a second, of a kind and, where it is given, of this first label. */
  perSecond(kind: string, label?: string): number {
    const past = this.#steps.slice(-1 - rateSteps, -1)
    if (past.length === 0) return 0
    const sum = past.reduce((sum, step) => sum + sumOf(step, kind, label), 0)
    return (sum * 1000) / (past.length * stepMs)
  }

  /** The rate, a second, in each step that is over, the oldest first. */
  line(kind: string, label?: string): number[] {
    return this.#steps.slice(0, -1).map(step => rateIn(step, kind, label))
  }

  /** The rate, a second, in the last step that is over. */
  point(kind: string, label?: string): number {
    const last = this.#steps.at(-2)
    return last ? rateIn(last, kind, label) : 0
  }
}

function rateIn(step: Counts, kind: string, label: string | undefined): number {
  return (sumOf(step, kind, label) * 1000) / stepMs
}

function sumOf(step: Counts, kind: string, label: string | undefined): number {
  const prefix = label === undefined ? `${kind}${separator}` : `${kind}${separator}${label}`
  let sum = 0
  for (const [key, count] of step) {
    if (key === prefix || key.startsWith(label === undefined ? prefix : `${prefix}${separator}`)) sum += count
  }
  return sum
}
