import { commandsOf, withCompany } from './crowd.ts'
import { type Faults, type Plan, postFaults, processFaults } from './plan.ts'
import { Random } from './random.ts'
import {
  adrift,
  bounded,
  cramped,
  parted,
  paused,
  queued,
  quickLines,
  quickWays,
  restless,
  slowLines,
  slowWays,
  spread,
  uneven,
  withdrawn,
} from './worlds.ts'

const day = 24 * 3_600_000

export function planOf(seed: number): Plan {
  const random = new Random(seed)
  const gentle = random.chance(0.15)
  const calm = faultsOf(random, gentle)
  const faults = gentle ? calm : restless(seed, calm)
  const plan: Plan = {
    workers: random.int(1, 3),
    partitions: random.int(1, 2),
    fetchRecords: random.pick([1, 3, 500]),
    backlog: undefined,
    commands: commandsOf(random, faults.until),
    pauses: [],
    withdrawals: [],
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
    pollIntervalMs: random.pick([20, 150]),
    attempts: random.int(1, 3),
    maxAgeMs: random.chance(0.15) ? random.int(500, 5000) : day,
    skewMs: 0,
    notFound: random.chance(0.6),
    refusesDuplicates: random.chance(0.4),
    hooks: random.chance(0.3),
    bus: random.pick(gentle ? quickWays : [...quickWays, ...slowWays]),
    commits: undefined,
    http: random.pick(gentle ? quickLines : [...quickLines, ...slowLines]),
    faults,
  }
  const adverse = withCompany(gentle ? plan : adrift(seed, cramped(seed, plan)))
  return withdrawn(seed, paused(seed, uneven(seed, bounded(seed, spread(seed, queued(seed, parted(seed, adverse)))))))
}

/**
 * Each world has a few kinds of faults, not all of them: more of it meets, and a story is easier to read. In a gentle one
 * workers only come and go as planned, so that nothing excuses a doubt.
 */
function faultsOf(random: Random, gentle: boolean): Faults {
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
