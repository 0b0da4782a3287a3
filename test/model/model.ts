import { type Exploration, explore, type Model } from './explorer.ts'
import { type Action, groupActions } from './group.ts'
import { type Broken, brokenBySession, promises } from './promises.ts'
import type { Rules } from './rules.ts'
import { sessionActions } from './session.ts'
import { type Bounds, World } from './world.ts'

interface Step {
  action: Action
  process: number
  way: number
}

/** Ownership of one partition: every step that a process, its group or the broker can take from a state. */
export class OwnershipModel implements Model {
  readonly initial: Uint8Array
  readonly #world: World
  readonly #rules: Rules
  readonly #steps: readonly Step[]
  readonly #ignores: ReadonlySet<Broken>

  /** @param only looks for nothing else */
  constructor(bounds: Bounds, rules: Rules, only?: Broken) {
    const world = new World(bounds)
    this.#world = world
    this.#rules = rules
    this.initial = world.bytes.slice()
    const others = (Object.keys(promises) as Broken[]).filter(broken => broken !== only)
    this.#ignores = new Set(only ? others : [])
    this.#steps = [...groupActions, ...sessionActions].flatMap(action =>
      world.processes.flatMap(({ id }) =>
        Array.from({ length: action.ways?.(world) ?? 1 }, (_, way) => ({ action, process: id, way })),
      ),
    )
  }

  expand(state: Uint8Array, found: (step: number, next: Uint8Array, broken: string | null) => void): void {
    const world = this.#world
    world.bytes.set(state)
    for (let number = 0; number < this.#steps.length; number++) {
      const broken = this.#take(this.#steps[number]!)
      if (broken === undefined) continue
      world.normalise()
      found(number, world.bytes, broken)
      world.bytes.set(state)
    }
  }

  canonical(state: Uint8Array): Uint32Array {
    if (state !== this.#world.bytes) this.#world.bytes.set(state)
    return this.#world.canonical()
  }

  explore(most: number): Exploration {
    return explore(this, most)
  }

  /** The steps in words. */
  tell(steps: readonly number[]): string[] {
    const world = this.#world
    world.bytes.set(this.initial)
    return steps.map((number, i) => {
      const { action, process: id, way } = this.#steps[number]!
      this.#take(this.#steps[number]!)
      const says = action.says.replace(/\bA\b/g, 'ABC'[id]!)
      const more = action.more?.(world, world.processes[id]!, way)
      return `${String(i + 1).padStart(3)}. ${says}${more ? ` (${more})` : ''}`
    })
  }

  /** @returns undefined when the step cannot be taken now, null when it breaks nothing. */
  #take({ action, process: id, way }: Step): string | null | undefined {
    const world = this.#world
    const process = world.processes[id]!
    const answer = action.act(world, process, way, this.#rules)
    if (answer === false) return undefined
    const broken = answer === true ? brokenBySession(process) : answer
    return broken === null || this.#ignores.has(broken) ? null : promises[broken]
  }
}
