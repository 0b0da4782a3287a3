import { expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { leastBounds } from './bounds.ts'
import { type ActionName, actionNames, OwnershipModel, type Step, tell } from './model.ts'
import { RealSessions } from './real-sessions.ts'
import { design } from './rules.ts'

/** RUNS=5000 looks for rarer ways. */
const runs = Number(process.env.RUNS ?? 60)
const faults = {
  rejoins: 5,
  lostJoins: 5,
  lateHeartbeats: 5,
  crashes: 3,
  lostCommits: 9,
  losses: 3,
  resets: 2,
  leaves: 3,
}
const bounds = { ...leastBounds, ...faults, offsets: 5, rounds: 20, releases: 20 }

/** Faults are rare and work is frequent, else a way is nothing but rebalances. */
const weights: Partial<Record<ActionName, number>> = {
  ...{ crash: 1, forgetGroup: 1, stop: 4, evict: 4, giveUpJoin: 1, loseJoin: 2, loseSync: 1, joinAgain: 4, drain: 8 },
  ...{ endLease: 3, age: 2, beginBeat: 2, loseAnswer: 5, abort: 2, endAndLose: 10, hearNotSent: 5, giveUpPost: 5 },
  ...{ beginTakeOver: 60, readCheckpoint: 60, open: 60, post: 30 },
  ...{ beginCommit: 20, write: 60, end: 40, hearDone: 60, hearRefused: 60 },
}
const weightOf = ({ name }: Step) => weights[name] ?? 20

/** @param chance 0 to below 1 */
function choose(possible: readonly Step[], chance: number): Step {
  let left = chance * possible.reduce((sum, step) => sum + weightOf(step), 0)
  for (const step of possible) {
    left -= weightOf(step)
    if (left < 0) return step
  }
  return possible.at(-1)!
}

/** One way through the model, with real sessions beside it. @returns what was done */
async function walk(seed: number): Promise<ActionName[]> {
  const random = new Random(seed)
  const model = new OwnershipModel(bounds, design)
  const real = new RealSessions(model.world)
  const steps: Step[] = []
  try {
    await model.walk(
      random.int(100, 300),
      possible => choose(possible, random.next()),
      async step => {
        steps.push(step)
        await real.follow(step.name, step.process, step.way)
      },
    )
  } catch (error) {
    throw new Error(`seed ${seed}\n${tell(steps).join('\n')}`, { cause: error })
  }
  return steps.map(({ name }) => name)
}

test('sessions behave as the ownership model says, along its random paths', async () => {
  const taken = new Set<ActionName>()
  for (let seed = 1; seed <= runs; seed++) for (const name of await walk(seed)) taken.add(name)
  expect(actionNames.filter(name => !taken.has(name))).toEqual([])
}, 300_000)
