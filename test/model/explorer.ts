/** What the explorer needs of a model. States are arrays of bytes of one length. */
export interface Model {
  readonly initial: Uint8Array
  /** Calls back for each step from the state: its number among all steps, the state after it, and what it breaks. */
  expand(state: Uint8Array, found: (step: number, next: Uint8Array, broken: string | null) => void): void
  /** A form that is the same for all states which differ by nothing but names. */
  canonical(state: Uint8Array): Uint32Array
}

export interface Exploration {
  states: number
  steps: number
  /** The longest of the shortest ways to a state. */
  depth: number
  /** Whether there is nothing left to be seen within the bounds. */
  exhausted: boolean
  /** The shortest way to something that must not be, as numbers of steps. */
  counterexample: { broken: string; steps: number[] } | null
}

/** Breadth first: the first counterexample is a shortest one. */
export function explore(model: Model, most: number): Exploration {
  const size = model.initial.length
  const seen = new Seen()
  const cameFrom = new Uint32Array(most)
  const cameBy = new Uint16Array(most)
  let level = new Level(size)
  let states = 0
  let steps = 0
  let depth = 0
  let counterexample: Exploration['counterexample'] = null
  const wayTo = (index: number): number[] => {
    const way: number[] = []
    for (let i = index; i > 0; i = cameFrom[i]!) way.unshift(cameBy[i]!)
    return way
  }
  const end = (exhausted: boolean): Exploration => ({ states, steps, depth, exhausted, counterexample })

  seen.add(model.canonical(model.initial))
  level.push(model.initial)
  states++
  for (let first = 0; level.length > 0; depth++) {
    const next = new Level(size)
    for (let i = 0; i < level.length && !counterexample && states < most; i++) {
      model.expand(level.at(i), (step, state, broken) => {
        steps++
        if (counterexample || states >= most) return
        if (broken) counterexample = { broken, steps: [...wayTo(first + i), step] }
        if (!seen.add(model.canonical(state))) return
        cameFrom[states] = first + i
        cameBy[states] = step
        states++
        next.push(state)
      })
    }
    if (counterexample || states >= most) return end(false)
    first += level.length
    level = next
  }
  return end(true)
}

/** The states of one depth. */
class Level {
  length = 0
  readonly #size: number
  #bytes: Uint8Array

  constructor(size: number) {
    this.#size = size
    this.#bytes = new Uint8Array(size * 1024)
  }

  push(state: Uint8Array): void {
    const at = this.length++ * this.#size
    if (at + this.#size > this.#bytes.length) {
      const grown = new Uint8Array(this.#bytes.length * 2)
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(state, at)
  }

  at(index: number): Uint8Array {
    return this.#bytes.subarray(index * this.#size, (index + 1) * this.#size)
  }
}

/** A set of states, of each only 64 bits: among 10 million the chance that two are taken for one is 1 in 370,000. */
class Seen {
  #slots = new Uint32Array(2 ** 17)
  #mask = 2 ** 16 - 1
  #size = 0

  /** @returns whether it was not there */
  add(state: Uint32Array): boolean {
    let [a, b] = [0x9e3779b9, 0x85ebca6b]
    for (let i = 0; i < state.length; i++) {
      const word = state[i]!
      a = Math.imul(a ^ word, 0xcc9e2d51)
      a ^= a >>> 15
      b = Math.imul(b ^ word ^ (b >>> 13), 0x1b873593)
    }
    const isNew = this.#put(mix(a), mix(b ^ Math.imul(a, 5)) || 1)
    if (isNew && ++this.#size * 2 > this.#mask) this.#grow()
    return isNew
  }

  #put(high: number, low: number): boolean {
    for (let slot = high & this.#mask; ; slot = (slot + 1) & this.#mask) {
      if (this.#slots[slot * 2 + 1] === 0) {
        this.#slots[slot * 2] = high
        this.#slots[slot * 2 + 1] = low
        return true
      }
      if (this.#slots[slot * 2] === high && this.#slots[slot * 2 + 1] === low) return false
    }
  }

  /** A table no larger than it must be stays in the processor's cache for longer. */
  #grow(): void {
    const slots = this.#slots
    this.#slots = new Uint32Array(slots.length * 2)
    this.#mask = slots.length - 1
    for (let i = 0; i < slots.length; i += 2) if (slots[i + 1] !== 0) this.#put(slots[i]!, slots[i + 1]!)
  }
}

function mix(bits: number): number {
  let x = bits
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}
