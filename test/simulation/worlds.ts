import type { Scope } from '../../src/control/change.ts'
import { drawCommands, withPassingCommands } from './draw-commands.ts'
import {
  type CommandPlan,
  clockFaults,
  type Delay,
  type Faults,
  groupFaults,
  growingTopics,
  type Kid,
  type Plan,
  partingFaults,
} from './plan.ts'
import { Random } from './random.ts'
import { isSealable } from './sealing.ts'

/*
 * Each function turns some worlds into special ones. It draws from random numbers of its own, so that the other worlds
 * stay as they are.
 */

export const quickBus: readonly Delay[] = [
  { usual: 0, rare: 0, most: 0 },
  { usual: 2, rare: 0, most: 0 },
]

export const slowBus: readonly Delay[] = [
  { usual: 3, rare: 0.02, most: 400 },
  { usual: 30, rare: 0.05, most: 300 },
  { usual: 5, rare: 0.05, most: 1500 },
]

export const quickHttp: readonly Delay[] = [
  { usual: 0, rare: 0, most: 0 },
  { usual: 80, rare: 0, most: 0 },
]

export const slowHttp: readonly Delay[] = [
  { usual: 20, rare: 0.02, most: 200 },
  { usual: 200, rare: 0.1, most: 600 },
  { usual: 100, rare: 0.3, most: 4000 },
]

export const slowGatewayMs = 700

/**
 * In some worlds members join, leave and freeze far more often, answers of the coordinator are lost, and the oldest
 * records of the logs are deleted.
 */
export function withBusyGroup(seed: number, faults: Faults): Faults {
  const random = new Random(seed ^ 0x6e57)
  if (!random.chance(0.35)) return faults
  const kinds = groupFaults.filter(() => random.chance(0.6))
  return {
    ...faults,
    rate: random.pick([0.02, 0.05, 0.1]),
    most: random.int(6, 40),
    kinds: kinds.length > 0 ? kinds : ['join'],
    groupLostRate: random.pick([0, 0.1, 0.3]),
  }
}

/** In some worlds the clocks of processes differ and are set while they run, and machines are suspended. */
export function withWrongClocks(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0xc10c)
  if (!random.chance(0.25)) return plan
  const { faults } = plan
  return {
    ...plan,
    workers: random.int(2, 3),
    skewMs: random.pick([300, 2000, 10_000]),
    notFound: true, // a doubt that is polled too early is sent again
    faults: {
      ...faults,
      posts: [...new Set([...faults.posts, 'slow' as const])],
      postRate: Math.max(faults.postRate, 0.2),
      kinds: [...clockFaults, ...faults.kinds],
      rate: random.pick([0.02, 0.06]),
      most: random.int(3, 12),
    },
  }
}

/** In some worlds memory holds few commands, and accounts that may not send have to make room for others. */
export function withLittleMemory(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0xc4a3)
  if (!random.chance(0.25)) return plan
  const { faults } = plan
  const partitions = random.chance(0.7) ? 1 : 2
  const sessions = 3 * partitions
  const records = sessions * random.int(2, 24)
  const bytes = sessions * (random.chance(0.3) ? random.int(1000, 4000) : 1 << 20)
  return {
    ...plan,
    partitions,
    backlog: { records, bytes },
    commands: drawCommands(random, faults.until, { count: random.int(30, 150), accounts: ['default', 'other'] }),
    faults: {
      ...faults,
      outages: random.int(1, 4),
      ...(random.chance(0.3) && { postRate: 0.5, posts: ['lost', 'reset'] }),
    },
  }
}

/**
 * In some worlds processes lose their partitions while they stop, and requests in flight are answered before the stop
 * ends: the next owner has begun by then.
 */
export function withLossesDuringStops(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x3b91)
  const { faults } = plan
  if (!random.chance(0.15) || plan.backlog) return plan
  const until = random.int(3000, 9000)
  return {
    ...withPassingCommands({ ...plan, commands: drawCommands(random, until, { count: random.int(20, 60) }) }),
    workers: random.int(2, 3),
    timeoutMs: 3000,
    maxOperations: random.pick([1, 2, 5]),
    bus: random.pick(quickBus),
    http: { usual: random.pick([1000, 1400]), rare: 0, most: 0 },
    faults: { ...faults, until, kinds: partingFaults, rate: random.pick([0.01, 0.03]), most: random.int(3, 8) },
  }
}

/** In some worlds the gateway is slow, so that prepared envelopes wait for a slot while workers start and stop. */
export function withSlowGateway(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x9e1d)
  const { faults } = plan
  if (!random.chance(0.15) || plan.backlog) return plan
  const until = random.int(3000, 9000)
  return {
    ...withPassingCommands({ ...plan, commands: drawCommands(random, until, { count: random.int(20, 60) }) }),
    workers: random.int(1, 3),
    rate: undefined, // more processes than operations a second could exceed it, as docs/delivery.md says
    drainMs: random.pick([100, 400]),
    timeoutMs: 3000,
    concurrency: random.pick([1, 2, 4]),
    maxOperations: random.pick([1, 2, 5]),
    bus: random.pick(quickBus),
    http: { usual: random.pick([slowGatewayMs, 1400]), rare: 0, most: 0 },
    faults: {
      ...faults,
      until,
      kinds: ['join', 'leave'],
      rate: random.pick([0.01, 0.03]),
      lostRate: 0,
      groupLostRate: 0,
    },
  }
}

/** In some worlds one of two accounts is slow. */
export function withSlowAccount(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x510a)
  if (!random.chance(0.25) || plan.http.usual >= slowGatewayMs) return plan
  const commands = plan.commands.map(
    (command): CommandPlan => ({ ...command, account: command.id % 2 === 0 ? 'other' : 'default' }),
  )
  return { ...plan, commands, slowAccount: random.pick(['default', 'other']) }
}

/** In some worlds an envelope holds commands of many partitions. */
export function withManyPartitions(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x5bad)
  if (!random.chance(0.4)) return plan
  return { ...plan, partitions: random.int(3, 8), maxOperations: random.pick([3, 5, 100]) }
}

/** In some worlds a kill may leave only few commands in doubt. */
export function withFewIntents(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0xb0d5)
  if (!random.chance(0.5)) return plan
  return { ...plan, maxIntents: random.int(2, 4) * plan.maxOperations }
}

/**
 * In some worlds operators pause and resume accounts, topics and tenants: in most of those with a slow gateway, so that
 * pauses meet prepared envelopes.
 */
export function withPauses(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x9a05)
  if (!random.chance(plan.http.usual >= slowGatewayMs ? 0.7 : 0.2)) return plan
  const { faults, commands } = plan
  const name = 'acme'
  const ofTenant = new Set(commands.flatMap(({ id, tenant }) => (tenant || random.chance(0.5) ? [] : [id])))
  const effect = 'paused'
  const scopes: Extract<Scope, { effect: 'paused' }>[] = [
    { effect, kind: 'tenant', name },
    ...['default', 'other'].map(name => ({ effect, kind: 'account', name }) as const),
    ...['urgent', 'bulk'].map(name => ({ effect, kind: 'topic', name }) as const),
  ]
  return {
    ...plan,
    commands: commands.map(command => (ofTenant.has(command.id) ? { ...command, tenant: name } : command)),
    pauses: Array.from({ length: random.int(1, 5) }, () => ({
      ...random.pick(scopes),
      at: random.int(0, faults.until),
      lasts: random.pick([random.int(1, 500), random.int(500, 4000), random.int(4000, 20_000)]),
    })),
  }
}

/** In some worlds operators withdraw the messages of a tenant, or single ones. */
export function withWithdrawals(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x71d4)
  if (!random.chance(plan.http.usual >= slowGatewayMs ? 0.6 : 0.25)) return plan
  const { faults, commands } = plan
  const name = 'shop'
  const ofTenant = new Set(commands.flatMap(({ id, tenant }) => (tenant || random.chance(0.3) ? [] : [id])))
  const effect = 'withdrawn'
  const message = ({ account, id }: CommandPlan) => ({ effect, kind: 'message', name: `${account}/${id}` }) as const
  return {
    ...plan,
    commands: commands.map(command => (ofTenant.has(command.id) ? { ...command, tenant: name } : command)),
    withdrawals: Array.from({ length: random.int(1, 4) }, () => ({
      ...random.pick([{ effect, kind: 'tenant', name } as const, message(random.pick(commands))]),
      at: random.int(0, faults.until),
      lasts: random.pick([random.int(1, 500), random.int(500, 4000), 60_000]),
    })),
  }
}

/**
 * In some worlds commits are slower or faster than other requests to the bus. If they are slower, a process that joins
 * again continues while earlier commits are in flight. If they are faster and records come one by one, a process loses
 * a partition before it has read all the doubts that it took over.
 */
export function withUnequalDelays(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x3a11)
  const { faults } = plan
  if (!random.chance(0.2) || plan.backlog) return plan
  const until = random.int(3000, 6000)
  const pace = random.chance(0.5) ? slowCommits : quickCommits
  const some = { ...faults, until, most: random.int(10, 30), groupLostRate: 0, ...pace.faults }
  return {
    ...withPassingCommands({
      ...plan,
      commands: drawCommands(random, until, { count: random.int(60, 120) }),
      faults: some,
    }),
    workers: random.int(1, 2),
    partitions: random.int(3, 8),
    fetchRecords: pace.fetchRecords,
    rate: undefined, // more processes than operations a second could exceed it, as docs/delivery.md says
    drainMs: 10,
    maxOperations: random.pick([3, 5]),
    maxIntents: undefined,
    concurrency: 8,
    bus: pace.bus,
    commits: pace.commits,
    http: random.pick(quickHttp),
  }
}

type Pace = Pick<Plan, 'bus' | 'commits' | 'fetchRecords'> & { faults: Pick<Faults, 'kinds' | 'rate' | 'lostRate'> }

const slowCommits: Pace = {
  bus: { usual: 0, rare: 0, most: 0 },
  commits: { usual: 150, rare: 0.3, most: 500 },
  fetchRecords: 500,
  faults: { kinds: ['join', 'leave'], rate: 0.05, lostRate: 0 },
}

const quickCommits: Pace = {
  bus: { usual: 30, rare: 0.05, most: 300 },
  commits: { usual: 2, rare: 0, most: 0 },
  fetchRecords: 1,
  faults: { kinds: ['crash', 'join'], rate: 0.01, lostRate: 0.15 },
}

/** In some worlds operators add partitions, while callbacks are late and the group's offsets are reset. */
export function withGrowth(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x960f)
  if (!random.chance(0.3)) return plan
  const { faults } = plan
  return {
    ...plan,
    hooks: plan.hooks || random.chance(0.7),
    growths: Array.from({ length: random.int(1, 6) }, () => ({
      topic: random.pick(growingTopics),
      more: random.int(1, 8),
      at: random.int(0, faults.until),
      resetAt: random.chance(0.4) ? random.int(0, faults.until) : null,
    })),
    faults: {
      ...faults,
      posts: [...new Set([...faults.posts, 'lost' as const])],
      postRate: Math.max(faults.postRate, 0.2),
    },
  }
}

/** In some worlds commands wait for their time, operators pause campaigns, and the table gets partitions. */
export function withWaiting(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x1a7e)
  if (!random.chance(0.4)) return plan
  const { faults, commands } = plan
  const share = random.pick([0.2, 0.6, 1])
  const longest = random.pick([500, 3000, faults.until + 3000])
  const campaign = 'spring'
  const ofCampaign = new Set(commands.flatMap(({ id }) => (random.chance(0.5) ? [id] : [])))
  const scope = { effect: 'paused', kind: 'campaign', name: campaign } as const
  // a stop for a reset has no time to commit what times out with it
  const isGentle = faults.kinds.every(kind => kind === 'join' || kind === 'leave')
  const growths = Array.from({ length: random.pick([0, 0, 1, 2]) }, () => ({
    topic: 'later' as const,
    more: random.int(1, 3),
    at: random.int(0, faults.until),
    resetAt: random.chance(isGentle ? 0 : 0.6) ? random.int(0, faults.until) : null,
  }))
  return {
    ...plan,
    laterPartitions: random.int(1, 3),
    commands: commands.map(command => {
      const notBefore = random.chance(share) ? random.int(-500, longest) : null
      const { deadline } = command
      return {
        ...command,
        campaign: ofCampaign.has(command.id) ? campaign : null,
        notBefore,
        deadline: deadline === null || notBefore === null ? deadline : Math.max(0, notBefore) + Math.max(1, deadline),
      }
    }),
    pauses: [
      ...plan.pauses,
      ...Array.from({ length: random.pick([0, 1, 3]) }, () => ({
        ...scope,
        at: random.int(0, faults.until),
        lasts: random.pick([random.int(1, 500), random.int(500, 4000), random.int(4000, 20_000)]),
      })),
    ],
    growths: [...plan.growths, ...growths],
  }
}

/**
 * In some worlds contents are sealed. Keys come late, are removed while commands wait or are in doubt, or never come; processes
 * that start later may refuse what others have sent.
 */
export function withSealing(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x5ea1)
  if (!random.chance(0.35)) return plan
  const { until } = plan.faults
  const share = random.pick([0.3, 0.7, 1])
  const moved = random.pick([0, 0.1])
  const some = random.pick<Kid[]>([
    ['steady'],
    ['steady', 'late'],
    ['steady', 'removed'],
    ['late', 'removed', 'missing'],
  ])
  const time = () => random.pick([random.int(0, until), random.int(until, until + 20_000)])
  return {
    ...plan,
    keys: [
      { kid: 'steady', from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY },
      { kid: 'late', from: time(), until: Number.POSITIVE_INFINITY },
      { kid: 'removed', from: Number.NEGATIVE_INFINITY, until: time() },
    ],
    strict: random.chance(0.4)
      ? { from: random.int(0, until), ...random.pick([onlySealed, onlyOtherCountries]) }
      : null,
    commands: plan.commands.map(command => {
      if (!isSealable(command) || !random.chance(share)) return command
      const kid = command.at < until ? random.pick(some) : 'steady'
      return { ...command, kid, kind: command.kind === 'valid' && random.chance(moved) ? 'moved' : command.kind }
    }),
  }
}

const onlySealed = { clear: true, countries: false }
const onlyOtherCountries = { clear: false, countries: true }
