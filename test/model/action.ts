import type { Broken } from './promises.ts'
import type { Rules } from './rules.ts'
import type { Partition, Process } from './world.ts'

/** One thing that may happen. */
export interface Action {
  /** It says in words what is done; `A` stands for the process. */
  says: string
  /** Whether it happens to a process, not to what it knows of one partition. */
  toAll?: true
  /** How many ways there are for it to happen to one process. */
  ways?: (partition: Partition) => number
  /** More words, once it has happened. */
  more?: (partition: Partition, process: Process, way: number) => string
  /**
   * Lets it happen. A way that cannot be now leaves the world as it was.
   * @returns whether it happened, or what it broke
   */
  act(partition: Partition, process: Process, way: number, rules: Rules): boolean | Broken
}
