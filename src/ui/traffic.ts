/** Milliseconds that one count covers. */
export const stepMs = 2000
/** Steps that are kept. */
export const steps = 300
/** The time that counts go back. */
export const windowMs = steps * stepMs
/** Rates are means over these steps: ten seconds. */
const rateSteps = 5
/** Gateways and producers name types as they like: more than these are counted as `other`. */
const mostNames = 1000
const separator = '\u0000'

type Counts = Map<string, number>

interface Step {
  counts: Counts
  isKnown: boolean
}

const newStep = (): Step => ({ counts: new Map(), isKnown: true })

/**
 * Traffic is what was counted in the last ten minutes, by name, in steps of two seconds: rates, sums and a line to
 * draw. Its memory is bounded by the number of names.
 */
export class Traffic {
  /** The newest last. Counting goes on in the newest one. */
  readonly #steps: Step[] = [newStep()]
  readonly #sums: Counts = new Map()

  /**
   * Counts one.
   * @param name such as `['result', 'sms', 'SENT', '']`
   */
  add(name: readonly string[]): void {
    const known = name.join(separator)
    const key = this.#sums.has(known) || this.#sums.size < mostNames ? known : [name[0], 'other'].join(separator)
    for (const counts of [this.#steps.at(-1)!.counts, this.#sums]) counts.set(key, (counts.get(key) ?? 0) + 1)
  }

  /** The next step begins. @param isKnown whether all that happened in the one that ends could be counted */
  step(isKnown = true): void {
    this.#steps.at(-1)!.isKnown = isKnown
    this.#steps.push(newStep())
    if (this.#steps.length <= steps) return
    for (const [key, count] of this.#steps.shift()!.counts) {
      const left = this.#sums.get(key)! - count
      if (left > 0) this.#sums.set(key, left)
      else this.#sums.delete(key)
    }
  }

  /** All counts of a kind, which is the first part of their names, with the other parts. */
  counts(kind: string): { labels: string[]; count: number }[] {
    return [...this.#sums].flatMap(([key, count]) => {
      const [first, ...labels] = key.split(separator)
      return first === kind ? [{ labels, count }] : []
    })
  }

  /** The rates, a second, at the end of each step that is over, the oldest first. */
  line(kind: string, label?: string): (number | null)[] {
    return this.#steps.slice(0, -1).map((_, i) => this.#rateAt(i, kind, label))
  }

  /** The rate, a second, of a kind and, where it is given, of this first label, now. null: it is not known. */
  perSecond(kind: string, label?: string): number | null {
    return this.#rateAt(this.#steps.length - 2, kind, label)
  }

  /** The mean of the steps that are known among the last ones. null: the last one is not. */
  #rateAt(i: number, kind: string, label: string | undefined): number | null {
    if (!this.#steps[i]?.isKnown) return null
    const past = this.#steps.slice(Math.max(0, i + 1 - rateSteps), i + 1).filter(({ isKnown }) => isKnown)
    const sum = past.reduce((sum, { counts }) => sum + sumOf(counts, kind, label), 0)
    return (sum * 1000) / (past.length * stepMs)
  }
}

function sumOf(step: Counts, kind: string, label: string | undefined): number {
  const name = label === undefined ? kind : `${kind}${separator}${label}`
  const own = [...step].filter(([key]) => key === name || key.startsWith(name + separator))
  return own.reduce((sum, [, count]) => sum + count, 0)
}
