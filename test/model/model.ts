/**
 * A model of who owns a partition: generation, lease, tag and sequence of the checkpoint, what was confirmed, the ledger.
 * It is explored to its end within its bounds (npm run model; docs/design.md tells what that proves).
 *
 * rules.ts       what a process decides, as src/bus/session does; planted.ts: the same made wrong, a rule at a time
 * group.ts       what may happen in the group: rebalances, lost answers, leases that end
 * take-over.ts   how sessions are opened; commits.ts: what they commit; session.ts: POSTs, deaths
 * promises.ts    what must never be
 * fields.ts      what there is to know; world.ts and layout.ts: the same as bytes
 * explorer.ts    every state within bounds.ts, and a shortest way to what must not be
 * real-sessions  holds src/bus/session to what the model says of it
 */
import type { Bounds } from './bounds.ts'
import { commitActions } from './commits.ts'
import type { Exploration, Model } from './explorer.ts'
import { groupActions } from './group.ts'
import { type Broken, brokenBySession, promises } from './promises.ts'
import type { Rules } from './rules.ts'
import { sessionActions } from './session.ts'
import { takeOverActions } from './take-over.ts'
import { type Action, type Process, World } from './world.ts'

const all = { ...groupActions, ...takeOverActions, ...commitActions, ...sessionActions }
export type ActionName = keyof typeof all
const actions: Record<ActionName, Action> = all
export const actionNames = Object.keys(actions) as ActionName[]

export interface Step {
  name: ActionName
  action: Action
  partition: number
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
    this.#steps = (Object.entries(actions) as [ActionName, Action][]).flatMap(([name, action]) =>
      world.processes.flatMap(({ id }) =>
        world.partitions.slice(0, action.toAll ? 1 : undefined).flatMap((_, partition) =>
          Array.from({ length: action.ways?.(world) ?? 1 }, (_, way) => ({
            name,
            action,
            partition,
            process: id,
            way,
          })),
        ),
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

  /** The way to a counterexample that was found. */
  story({ counterexample }: Exploration): string[] {
    return counterexample ? this.tell(counterexample.steps.map(number => this.#steps[number]!)) : []
  }

  /** The world is as it is after the last step that was taken. */
  get world(): World {
    return this.#world
  }

  /**
   * One way through the world, step by step.
   * @param choose one of the steps that can be taken
   * @param taken is told of each step after it was taken
   */
  async walk(length: number, choose: (possible: readonly Step[]) => Step, taken: (step: Step) => Promise<void>) {
    const world = this.#world
    world.bytes.set(this.initial)
    for (let i = 0; i < length; i++) {
      const before = world.bytes.slice()
      const possible = this.#steps.filter(step => {
        const can = this.#take(step) !== undefined
        world.bytes.set(before)
        return can
      })
      if (possible.length === 0) return
      const step = choose(possible)
      this.#take(step)
      await taken(step)
    }
  }

  /** The steps in words. */
  tell(steps: readonly Step[]): string[] {
    const world = this.#world
    world.bytes.set(this.initial)
    return steps.map((step, i) => {
      const { action, partition: p, process: id, way } = step
      const partition = world.partitions[p]!
      this.#take(step)
      const says = action.says.replace(/\bA\b/g, 'ABC'[id]!).replace('the partition', ['$&', 'the other one'][p]!)
      const more = action.more?.(partition, partition.processes[id]!, way)
      return `${String(i + 1).padStart(3)}. ${says}${more ? ` (${more})` : ''}`
    })
  }

  /** @returns undefined when the step cannot be taken now, null when it breaks nothing. */
  #take({ action, partition: p, process: id, way }: Step): string | null | undefined {
    const partition = this.#world.partitions[p]!
    const process = partition.processes[id]!
    const answer = action.act(partition, process, way, this.#rules)
    if (answer === false) return undefined
    const broken = answer === true ? brokenByAny(process) : answer
    return broken === null || this.#ignores.has(broken) ? null : promises[broken]
  }
}

function brokenByAny({ seats }: Process): Broken | null {
  for (const seat of seats) {
    const broken = brokenBySession(seat)
    if (broken) return broken
  }
  return null
}
