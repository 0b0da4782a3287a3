/**
 * A model of who owns a partition: generation, lease, tag and sequence of the checkpoint, what was confirmed, the ledger.
 * It is explored to its end within its bounds (npm run model; docs/evidence.md tells what that proves).
 *
 * rules.ts       what a process decides, as src/bus/session does; planted.ts: the same made wrong, a rule at a time
 * group.ts       what may happen in the group: rebalances, lost answers, leases that end
 * session.ts     how sessions are opened, POSTs, deaths; commits.ts: what sessions commit
 * promises.ts    what must never be
 * world.ts       what there is to know
 * explorer.ts    every state within bounds.ts, and a shortest way to what must not be
 * real-sessions  holds src/bus/session to what the model says of it
 */
import type { Bounds } from './bounds.ts'
import { commitActions } from './commits.ts'
import type { Exploration, Model, Next } from './explorer.ts'
import { groupActions } from './group.ts'
import { type Broken, brokenBySession, promises } from './promises.ts'
import type { Rules } from './rules.ts'
import { sessionActions } from './session.ts'
import { type Process, World } from './world.ts'

/**
 * Things that may happen to a process. One that cannot happen now leaves the world as it was.
 * @returns whether it happened, or what it broke
 */
export type Actions = Record<string, (world: World, process: Process, rules: Rules, way: number) => boolean | Broken>

const all = { ...groupActions, ...sessionActions, ...commitActions }
export type ActionName = keyof typeof all
const actions: Actions = all
export const actionNames = Object.keys(all) as ActionName[]

/** How many ways there are for an action to happen to a process; 1 where it is not named. */
const waysOf: Partial<Record<ActionName, (offsets: number) => number>> = {
  post: offsets => offsets,
  hearNotSent: offsets => offsets,
  giveUpPost: offsets => offsets,
  beginCommit: offsets => 2 ** offsets,
}

export interface Step {
  name: ActionName
  process: number
  way: number
}

/** Ownership of a partition: every step that a process, its group or the broker can take from a state. */
export class OwnershipModel implements Model {
  readonly initial: string
  /** As it is after the last step that was taken. */
  readonly world: World
  readonly #rules: Rules
  readonly #steps: readonly Step[]
  readonly #only: Broken | undefined

  /** @param only looks for nothing else */
  constructor(bounds: Bounds, rules: Rules, only?: Broken) {
    this.world = new World(bounds)
    this.#rules = rules
    this.#only = only
    this.initial = this.#state()
    this.#steps = actionNames.flatMap(name =>
      this.world.processes.flatMap(({ id }) =>
        Array.from({ length: waysOf[name]?.(bounds.offsets) ?? 1 }, (_, way) => ({ name, process: id, way })),
      ),
    )
  }

  expand(state: string, found: (step: number, next: Next, broken: string | null) => void): void {
    const next = { canonical: () => this.world.canonical(), state: () => this.#state() }
    this.#reset(state)
    this.#steps.forEach((step, number) => {
      const broken = this.#take(step)
      if (broken === undefined) return
      this.world.normalise()
      found(number, next, broken)
      this.#reset(state)
    })
  }

  /** The way to a counterexample that was found. */
  story({ counterexample }: Exploration): string[] {
    return counterexample ? tell(counterexample.steps.map(number => this.#steps[number]!)) : []
  }

  /**
   * One way through the world, step by step.
   * @param choose one of the steps that can be taken
   * @param taken is told of each step after it was taken
   */
  async walk(length: number, choose: (possible: readonly Step[]) => Step, taken: (step: Step) => Promise<void>) {
    this.#reset(this.initial)
    for (let i = 0; i < length; i++) {
      const before = this.#state()
      const possible = this.#steps.filter(step => {
        const can = this.#take(step) !== undefined
        this.#reset(before)
        return can
      })
      if (possible.length === 0) return
      const step = choose(possible)
      this.#take(step)
      await taken(step)
    }
  }

  #state(): string {
    return this.world.bytes.toString('latin1')
  }

  #reset(state: string): void {
    this.world.bytes.write(state, 'latin1')
  }

  /** @returns undefined when the step cannot be taken now, null when it breaks nothing. */
  #take({ name, process: id, way }: Step): string | null | undefined {
    const process = this.world.processes[id]!
    const answer = actions[name]!(this.world, process, this.#rules, way)
    if (answer === false) return undefined
    const broken = answer === true ? brokenBySession(process) : answer
    return broken === null || (this.#only && broken !== this.#only) ? null : promises[broken]
  }
}

/** The steps in words; the actions' comments say what each is. */
export const tell = (steps: readonly Step[]): string[] =>
  steps.map(({ name, process, way }, i) => `${String(i + 1).padStart(3)}. ${'ABC'[process]}: ${name}, way ${way}`)
