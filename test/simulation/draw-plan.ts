import { drawCommands, withPassingCommands } from './draw-commands.ts'
import { type Faults, type Plan, postFaults, processFaults } from './plan.ts'
import { Random } from './random.ts'
import {
  quickBus,
  quickHttp,
  slowBus,
  slowHttp,
  withBusyGroup,
  withFewIntents,
  withGrowth,
  withLittleMemory,
  withLossesDuringStops,
  withManyPartitions,
  withPauses,
  withSealing,
  withSlowAccount,
  withSlowGateway,
  withUnequalDelays,
  withWaiting,
  withWithdrawals,
  withWrongClocks,
} from './worlds.ts'

const day = 24 * 3_600_000
const specialWorlds = [
  withLossesDuringStops,
  withSlowGateway,
  withManyPartitions,
  withFewIntents,
  withUnequalDelays,
  withPauses,
  withWithdrawals,
  withGrowth,
  withSlowAccount,
  withWaiting,
  withSealing,
]

export function drawPlan(seed: number): Plan {
  const random = new Random(seed)
  const gentle = random.chance(0.15)
  const drawn = drawFaults(random, gentle)
  const faults = gentle ? drawn : withBusyGroup(seed, drawn)
  const plan: Plan = {
    workers: random.int(1, 3),
    partitions: random.int(1, 2),
    laterPartitions: 1,
    fetchRecords: random.pick([1, 3, 500]),
    backlog: undefined,
    commands: drawCommands(random, faults.until),
    pauses: [],
    withdrawals: [],
    growths: [],
    keys: [],
    strict: null,
    sessionTimeoutMs: 1000,
    drainMs: gentle ? 700 : random.pick([100, 400, 700]),
    maxOperations: random.pick([1, 2, 3, 5, 100]),
    concurrency: random.pick([1, 2, 4, 8]),
    maxIntents: undefined,
    lingerMs: random.pick([0, 5, 20]),
    timeoutMs: gentle ? random.pick([100, 400]) : random.pick([100, 400, 900, 3000]),
    rate: random.chance(0.25) ? random.int(6, 25) : undefined,
    default: random.pick(['AT_MOST_ONCE', 'AT_LEAST_ONCE']),
    settleMs: random.pick([200, 600, 3000]),
    polls: random.int(1, 3),
    attempts: random.int(1, 3),
    maxAgeMs: random.chance(0.15) ? random.int(500, 5000) : day,
    skewMs: 0,
    notFound: random.chance(0.6),
    refusesDuplicates: random.chance(0.4),
    hooks: random.chance(0.3),
    bus: random.pick(gentle ? quickBus : [...quickBus, ...slowBus]),
    commits: undefined,
    http: random.pick(gentle ? quickHttp : [...quickHttp, ...slowHttp]),
    slowAccount: null,
    faults,
  }
  const adverse = withPassingCommands(gentle ? plan : withWrongClocks(seed, withLittleMemory(seed, plan)))
  return specialWorlds.reduce((changed, change) => change(seed, changed), adverse)
}

/**
 * Draws a few kinds of faults for each world, so that these meet more often and a trace is easier to read. In a gentle
 * world workers only start and stop as planned, so that nothing excuses a doubt.
 */
function drawFaults(random: Random, gentle: boolean): Faults {
  const some = <T>(all: readonly T[], share: number) => all.filter(() => random.chance(share))
  const kinds = gentle ? (['join', 'leave'] as const) : some(processFaults, random.pick([0.15, 0.35, 0.7]))
  const posts = some(postFaults, random.pick([0.1, 0.3, 0.7]))
  return {
    until: random.int(500, 5000),
    rate: kinds.length > 0 ? random.pick([0.005, 0.02, 0.06]) : 0,
    most: random.int(1, 12),
    kinds,
    postRate: posts.length > 0 ? random.pick([0.05, 0.2, 0.5]) : 0,
    posts,
    lostRate: !gentle && random.chance(0.4) ? random.pick([0.01, 0.05, 0.15]) : 0,
    groupLostRate: 0,
    registryRate: random.chance(0.25) ? random.pick([0.5, 0.8]) : 0,
    outages: random.chance(0.2) ? random.int(1, 2) : 0,
  }
}
