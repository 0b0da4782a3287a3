import type { Broken } from './promises.ts'
import type { Rules } from './rules.ts'
import type { Process, World } from './world.ts'

/** One thing that may happen. */
export interface Action {
  /** In words; `A` stands for the process. */
  says: string
  /** How many ways there are for it to happen to one process. */
  ways?: (world: World) => number
  /** More words, once it has happened. */
  more?: (world: World, process: Process, way: number) => string
  /**
   * Lets it happen. A way that cannot be now leaves the world as it was.
   * @returns whether it happened, or what it broke
   */
  act(world: World, process: Process, way: number, rules: Rules): boolean | Broken
}
