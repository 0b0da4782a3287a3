/** What the explorer needs of a model. States are texts. */
export interface Model {
  readonly initial: string
  /** Calls back for each step from the state: its number among all steps, the state after it, and what it breaks. */
  expand(state: string, found: (step: number, next: Next, broken: string | null) => void): void
}

export interface Next {
  /** The same for all states which differ by nothing but names. */
  canonical(): string
  state(): string
}

export interface Exploration {
  states: number
  /** The longest of the shortest ways to a state. */
  depth: number
  /** Whether there is nothing left to be seen within the bounds. */
  exhausted: boolean
  /** The shortest way to something that must not be, as numbers of steps. */
  counterexample: { broken: string; steps: number[] } | null
}

/** Breadth first: the first counterexample is a shortest one. */
export function explore(model: Model, most: number): Exploration {
  const seen = new Set<string>()
  const cameFrom = new Uint32Array(most)
  const cameBy = new Uint16Array(most)
  const wayTo = (index: number): number[] => (index > 0 ? [...wayTo(cameFrom[index]!), cameBy[index]!] : [])
  let counterexample: Exploration['counterexample'] = null
  let level = [model.initial]
  let depth = 0
  seen.add(model.initial)
  for (let first = 0; level.length > 0; depth++) {
    const next: string[] = []
    for (const [i, state] of level.entries()) {
      model.expand(state, (step, after, broken) => {
        if (broken) counterexample ??= { broken, steps: [...wayTo(first + i), step] }
        const index = seen.size
        if (index === most || seen.size === seen.add(after.canonical()).size) return
        cameFrom[index] = first + i
        cameBy[index] = step
        next.push(after.state())
      })
      if (counterexample || seen.size === most) return { states: seen.size, depth, exhausted: false, counterexample }
    }
    first += level.length
    level = next
  }
  return { states: seen.size, depth, exhausted: true, counterexample }
}
