import type { Backlog } from '../../src/bus/port.ts'
import { leastMessageBytes } from '../../src/bus/record-limits.ts'
import type { Scope } from '../../src/pauses/change.ts'
import { type SendType, sendTypes } from '../../src/protocol/index.ts'
import type { SendCommandDelivery } from '../../src/records/generated.ts'
import { Random } from './random.ts'

/** Milliseconds that something takes: up to `usual`, and by chance up to `most`. */
export interface Delay {
  usual: number
  rare: number
  most: number
}

export const processFaults = ['crash', 'freeze', 'cut', 'fence', 'join', 'leave', 'outage'] as const
/** parting: a process is asked to stop, and cut off from the bus for longer than the group waits for it. */
const partingFaults = ['parting', 'join'] as const
/** moved: the group's coordinator is nowhere for a while. deletion: an operator deletes the oldest commands of a partition. */
const groupFaults = ['join', 'leave', 'freeze', 'cut', 'moved', 'deletion'] as const
export type ProcessFault =
  | (typeof processFaults)[number]
  | (typeof groupFaults)[number]
  | (typeof partingFaults)[number]

/** What may become of a POST. `slow`: executed long after it was sent, but within the settle window. */
export const postFaults = [
  'unreachable',
  'queued',
  'slow',
  'lost',
  'reset',
  'cut',
  'refused in front',
  'error in front',
  'error behind',
  'foreign',
  'items differ',
  'throttled',
  'refused',
] as const
export type PostFault = (typeof postFaults)[number]

/** What the gateway does with a command's operation; `poison`: it refuses every envelope that holds it. */
export type Reaction = 'takes' | 'refuses' | 'throttles' | 'poison'

/** Parts of a command's record that may be large. */
const bulkParts = ['key', 'headers', 'body', 'correlationId', 'tenant'] as const
/** How many bytes they have; those that are missing are small. */
export type Bulk = Partial<Record<(typeof bulkParts)[number], number>>

/** Topics that the worker writes to. */
const limitedTopics = ['results', 'doubts', 'deadLetters', 'statuses'] as const

/** What a topic takes at most in a record from a time on. */
export interface Limit {
  topic: (typeof limitedTopics)[number]
  bytes: number
  /** Virtual milliseconds. */
  at: number
}

/** Operators pause something for a while. */
export interface PausePlan extends Scope {
  /** Virtual milliseconds. */
  at: number
  /** Milliseconds. */
  lasts: number
}

export interface CommandPlan {
  /** valid; invalid by the interface; of an account nobody knows; bytes that are no Avro; of a schema nobody knows. */
  kind: 'valid' | 'invalid' | 'stranger' | 'garbage' | 'foreign schema'
  /** Its own, or that of an earlier command on the same topic. */
  id: number
  type: SendType
  delivery: SendCommandDelivery
  account: 'default' | 'other'
  urgent: boolean
  /** Virtual milliseconds of its publication. */
  at: number
  /** Milliseconds after that. */
  deadline: number | null
  reaction: Reaction
  /** How large all commands with its id are. */
  bulk: Bulk
}

/** Everything that a seed decides beforehand. What happens in what order is the scheduler's to choose. */
export interface Plan {
  workers: number
  partitions: number
  /** Whether each process in turn can commit for all its partitions together. One that cannot keeps all from it. */
  shares: readonly boolean[]
  /** Most records in one fetch. */
  fetchRecords: number
  /** The most that all sessions of a process may hold undone in memory; undefined: more than these worlds have. */
  backlog: Backlog | undefined
  commands: CommandPlan[]
  pauses: readonly PausePlan[]
  sessionTimeoutMs: number
  drainMs: number
  maxOperations: number
  concurrency: number
  /** The most commands that a kill may leave in doubt; undefined: more than these worlds have. */
  maxIntents: number | undefined
  lingerMs: number
  timeoutMs: number
  rate: number | undefined
  default: 'AT_MOST_ONCE' | 'AT_LEAST_ONCE'
  settleMs: number
  polls: number
  pollIntervalMs: number
  attempts: number
  maxAgeMs: number
  /** Whether "not found" is believed. */
  notFound: boolean
  /** Whether the gateway refuses an id that it has executed. */
  refusesDuplicates: boolean
  /** Whether commands ask for callbacks. */
  hooks: boolean
  bus: Delay
  /** Each way of a commit; undefined: as long as anything else at the bus. */
  commits: Delay | undefined
  http: Delay
  faults: Faults
}

export interface Faults {
  /** Virtual milliseconds: from then on nothing goes wrong any more. */
  until: number
  /** The chance that something happens to a process at a step at one of its ports. */
  rate: number
  most: number
  kinds: readonly ProcessFault[]
  /** The chance that a POST goes wrong. */
  postRate: number
  posts: PostFault[]
  /** The chance that the caller of an acquisition or a commit hears an error; whether it happened is chance, too. */
  lostRate: number
  /** The chance that the caller of a join or a sync hears an error; whether the coordinator saw it is chance, too. */
  groupLostRate: number
  /** The chance that the registry does not answer. */
  registryRate: number
  /** How often the gateway turns the keys away or cannot be reached for a while. */
  outages: number
  /** A topic takes records of any size before its first limit. */
  limits: readonly Limit[]
  /** The chance that a topic's limit is not told; 1: the right to see it is missing. */
  untoldRate: number
  /** Virtual milliseconds when a log of commands loses its end. */
  truncations: readonly number[]
}

const day = 24 * 3_600_000

export function planOf(seed: number): Plan {
  const random = new Random(seed)
  const gentle = random.chance(0.15)
  const calm = faultsOf(random, gentle)
  const faults = gentle ? calm : restless(seed, calm)
  const plan: Plan = {
    workers: random.int(1, 3),
    partitions: random.int(1, 2),
    shares: sharesOf(seed),
    fetchRecords: random.pick([1, 3, 500]),
    backlog: undefined,
    commands: commandsOf(random, faults.until),
    pauses: [],
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
    notFound: random.chance(0.6),
    refusesDuplicates: random.chance(0.4),
    hooks: random.chance(0.3),
    bus: random.pick(gentle ? quickWays : [...quickWays, ...slowWays]),
    commits: undefined,
    http: random.pick(gentle ? quickLines : [...quickLines, ...slowLines]),
    faults,
  }
  const adverse = torn(seed, narrow(seed, withCompany(gentle ? plan : cramped(seed, plan))))
  return uneven(seed, paused(seed, bounded(seed, spread(seed, queued(seed, parted(seed, adverse))))))
}

const slowGatewayMs = 700

/** Most worlds have processes of today alone; in some there are others among them, as in a rolling upgrade. */
function sharesOf(seed: number): boolean[] {
  const random = new Random(seed ^ 0x5c4e)
  const share = random.pick([1, 1, 1, 0, 0.6])
  return Array.from({ length: 16 }, () => random.chance(share))
}

/** Milliseconds after the faults: often at first, and later until every pause is over. */
const companyAfter = [...Array.from({ length: 10 }, (_, i) => 1000 * (i + 1)), 15_000, 25_000, 40_000, 60_000, 80_000]

/**
 * What the gateway refuses whole envelopes for is told from an outage only as others of its account pass in the same
 * process; where none do, the greatest age ends it.
 */
function withCompany(plan: Plan): Plan {
  const poisoned = plan.commands.filter(({ reaction }) => reaction === 'poison')
  if (poisoned.length === 0) return plan
  const accounts = [...new Set(poisoned.map(({ account }) => account))]
  const places = companyAfter.flatMap((after, i) =>
    accounts.map(account => ({ at: plan.faults.until + after, account, urgent: i % 2 === 0 })),
  )
  const company = places.map((place, i): CommandPlan => {
    const id = plan.commands.length + i + 1
    return {
      kind: 'valid',
      id,
      type: 'sms',
      delivery: 'DEFAULT',
      deadline: null,
      reaction: 'takes',
      bulk: {},
      ...place,
    }
  })
  return { ...plan, commands: [...plan.commands, ...company], maxAgeMs: Math.min(plan.maxAgeMs, 120_000) }
}

const quickWays: readonly Delay[] = [
  { usual: 0, rare: 0, most: 0 },
  { usual: 2, rare: 0, most: 0 },
]
const slowWays: readonly Delay[] = [
  { usual: 3, rare: 0.02, most: 400 },
  { usual: 30, rare: 0.05, most: 300 },
  { usual: 5, rare: 0.05, most: 1500 },
]
const quickLines: readonly Delay[] = [
  { usual: 0, rare: 0, most: 0 },
  { usual: 80, rare: 0, most: 0 },
]
const slowLines: readonly Delay[] = [
  { usual: 20, rare: 0.02, most: 200 },
  { usual: 200, rare: 0.1, most: 600 },
  { usual: 100, rare: 0.3, most: 4000 },
]

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
    limits: [],
    untoldRate: 0,
    truncations: [],
  }
}

/**
 * In some worlds the group itself is the adversary: members come, go and stand still far more often, answers of the
 * coordinator are lost, and the logs are cut. Drawn apart, so that the other worlds of the same seeds stay as they are.
 */
function restless(seed: number, faults: Faults): Faults {
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

/**
 * In some worlds memory holds few commands, and accounts that may not send have to make room for others. Drawn apart, too.
 */
function cramped(seed: number, plan: Plan): Plan {
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
    commands: commandsOf(random, faults.until, { count: random.int(30, 150), accounts: ['default', 'other'] }),
    faults: {
      ...faults,
      outages: random.int(1, 4),
      ...(random.chance(0.3) && { postRate: 0.5, posts: ['lost', 'reset'] }),
    },
  }
}

/**
 * In some worlds topics take little, sometimes more or less of it as time goes, and commands are large. Drawn apart, too.
 */
function narrow(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x517e)
  if (!random.chance(0.3)) return plan
  const { faults, commands } = plan
  const limit = (topic: Limit['topic'], at: number): Limit => ({ topic, bytes: bytesOf(random, leastMessageBytes), at })
  const changes = Array.from({ length: random.pick([0, 0, 2, 6]) }, () => random.int(1, faults.until))
  const share = random.pick([0.1, 0.4, 1])
  const bulks = new Map<number, Bulk>()
  for (const { id } of commands) if (!bulks.has(id)) bulks.set(id, random.chance(share) ? bulkOf(random) : {})
  return {
    ...plan,
    commands: commands.map(command => ({ ...command, bulk: bulks.get(command.id)! })),
    faults: {
      ...faults,
      limits: [
        ...limitedTopics.filter(() => random.chance(0.6)).map(topic => limit(topic, 0)),
        ...changes.map(at => limit(random.pick(limitedTopics), at)),
      ],
      untoldRate: random.pick([0, 0, 0.5, 1]),
    },
  }
}

/**
 * In some worlds logs of commands lose their end. They do not where memory holds little, since nobody reads at the end there, nor
 * where topics take little, since a result may not say then which of two commands at a place it is about. Drawn apart, too.
 */
function torn(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x70a2)
  if (!random.chance(0.35) || plan.backlog || plan.faults.limits.length > 0 || plan.faults.untoldRate > 0) return plan
  const { faults } = plan
  const times = Array.from({ length: random.int(1, 6) }, () => random.int(100, faults.until))
  // what is older when the partition is opened again has no result, as docs/delivery.md says
  const maxAgeMs = Math.max(plan.maxAgeMs, 20_000)
  return {
    ...withCompany({ ...plan, maxAgeMs, commands: commandsOf(random, faults.until, { count: random.int(20, 80) }) }),
    faults: { ...faults, truncations: times },
  }
}

/**
 * In some worlds processes lose their partitions while they stop, with requests in flight of which they hear before their
 * time is over: the next owner has begun by then. Drawn apart, too.
 */
function parted(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x3b91)
  const { faults } = plan
  if (!random.chance(0.15) || plan.backlog || faults.limits.length > 0 || faults.truncations.length > 0) return plan
  const until = random.int(3000, 9000)
  return {
    ...withCompany({ ...plan, commands: commandsOf(random, until, { count: random.int(20, 60) }) }),
    workers: random.int(2, 3),
    timeoutMs: 3000,
    maxOperations: random.pick([1, 2, 5]),
    bus: random.pick(quickWays),
    http: { usual: random.pick([1000, 1400]), rare: 0, most: 0 },
    faults: { ...faults, until, kinds: partingFaults, rate: random.pick([0.01, 0.03]), most: random.int(3, 8) },
  }
}

/**
 * In some worlds the gateway is slow, so that prepared envelopes wait for a slot while workers come and go as planned.
 * Drawn apart, too.
 */
function queued(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x9e1d)
  const { faults } = plan
  if (!random.chance(0.15) || plan.backlog || faults.limits.length > 0 || faults.truncations.length > 0) return plan
  const until = random.int(3000, 9000)
  return {
    ...withCompany({ ...plan, commands: commandsOf(random, until, { count: random.int(20, 60) }) }),
    workers: random.int(1, 3),
    rate: undefined, // more processes than operations a second could exceed it, as docs/delivery.md says
    drainMs: random.pick([100, 400]),
    timeoutMs: 3000,
    concurrency: random.pick([1, 2, 4]),
    maxOperations: random.pick([1, 2, 5]),
    bus: random.pick(quickWays),
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

/** In some worlds a kill may leave few commands in doubt. Such worlds are drawn apart from the others. */
function bounded(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0xb0d5)
  if (!random.chance(0.5)) return plan
  return { ...plan, maxIntents: random.int(2, 4) * plan.maxOperations }
}

/**
 * In some worlds operators pause accounts, topics and tenants, and let them go on; in most of those where the gateway is
 * slow, so that pauses meet what is prepared. Drawn apart, too.
 */
function paused(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x9a05)
  if (!random.chance(plan.http.usual >= slowGatewayMs ? 0.7 : 0.2)) return plan
  const { faults, commands } = plan
  const tenant = 'tttt'
  const ofTenant = new Set(commands.flatMap(({ id, bulk }) => (bulk.tenant || random.chance(0.5) ? [] : [id])))
  const scopes: Scope[] = [
    { kind: 'tenant', name: tenant },
    ...['default', 'other'].map((name): Scope => ({ kind: 'account', name })),
    ...['urgent', 'bulk'].map((name): Scope => ({ kind: 'topic', name })),
  ]
  return {
    ...plan,
    commands: commands.map(command =>
      ofTenant.has(command.id) ? { ...command, bulk: { ...command.bulk, tenant: tenant.length } } : command,
    ),
    pauses: Array.from({ length: random.int(1, 5) }, () => ({
      ...random.pick(scopes),
      at: random.int(0, faults.until),
      lasts: random.pick([random.int(1, 500), random.int(500, 4000), random.int(4000, 20_000)]),
    })),
  }
}

/**
 * In some worlds an envelope holds commands of many partitions; fewer of those in which logs lose their end, since what
 * happens to one log is rarer the more there are. Drawn apart, too.
 */
function spread(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x5bad)
  if (!random.chance(plan.faults.truncations.length > 0 ? 0.15 : 0.4)) return plan
  return { ...plan, partitions: random.int(3, 8), maxOperations: random.pick([3, 5, 100]) }
}

/**
 * In some worlds commits have a pace of their own. Where they are slow and the rest of the bus is quick, a process that
 * joins anew goes on while commits of before are still under way. Where they are quick and records come one by one, a
 * process loses a partition again before it has read all that it took over in doubt. Drawn apart, too.
 */
function uneven(seed: number, plan: Plan): Plan {
  const random = new Random(seed ^ 0x3a11)
  const { faults } = plan
  if (!random.chance(0.2) || plan.backlog || faults.limits.length > 0 || faults.truncations.length > 0) return plan
  const until = random.int(3000, 6000)
  const pace = random.chance(0.5) ? slowCommits : quickCommits
  const some = { ...faults, until, most: random.int(10, 30), groupLostRate: 0, ...pace.faults }
  return {
    ...withCompany({ ...plan, commands: commandsOf(random, until, { count: random.int(60, 120) }), faults: some }),
    workers: random.int(1, 2),
    partitions: random.int(3, 8),
    shares: plan.shares.map(() => false),
    fetchRecords: pace.fetchRecords,
    rate: undefined, // more processes than operations a second could exceed it, as docs/delivery.md says
    drainMs: 10,
    maxOperations: random.pick([3, 5]),
    maxIntents: undefined,
    concurrency: 8,
    bus: pace.bus,
    commits: pace.commits,
    http: random.pick(quickLines),
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

function bulkOf(random: Random): Bulk {
  const parts = bulkParts.filter(() => random.chance(0.35))
  return Object.fromEntries(parts.map(part => [part, bytesOf(random, 100)]))
}

const bytesOf = (random: Random, least: number) => random.int(least, random.pick([least, 6000, 20_000, 60_000]))

interface Crowd {
  count?: number
  accounts?: readonly CommandPlan['account'][]
}

function commandsOf(random: Random, until: number, crowd: Crowd = {}): CommandPlan[] {
  const repeats = random.pick([0, 0, 0.1, 0.4])
  const odd = random.chance(0.5) ? 0.1 : 0
  const refusals = random.pick([0, 0, 0.1, 0.3])
  const deadlines = random.pick([0, 0.2, 0.6])
  const types = random.chance(0.5) ? sendTypes : [random.pick(sendTypes), random.pick(sendTypes)]
  const deliveries = random.chance(0.5)
    ? (['DEFAULT', 'AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const)
    : [random.pick(['AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const)]
  const some = random.chance(0.3) ? (['default', 'other'] as const) : (['default'] as const)
  const bursts = Array.from({ length: random.int(1, 10) }, () => random.int(0, until))
  const commands: CommandPlan[] = []
  const { accounts = some, count = random.int(3, random.pick([10, 30, 60])) } = crowd
  for (let i = 0; i < count; i++) {
    const kind = random.chance(odd)
      ? random.pick(['invalid', 'stranger', 'garbage', 'foreign schema'] as const)
      : 'valid'
    const original = kind === 'valid' && random.chance(repeats) && commands.length > 0 ? random.pick(commands) : null
    commands.push({
      kind,
      id: original?.id ?? i + 1,
      type: random.pick(types),
      delivery: random.pick(deliveries),
      account: original?.account ?? random.pick(accounts),
      urgent: original?.urgent ?? random.chance(0.3),
      at: random.pick(bursts),
      deadline: random.chance(deadlines) ? random.int(-5, 3000) : null,
      reaction: random.chance(refusals) ? random.pick(['refuses', 'throttles', 'poison'] as const) : 'takes',
      bulk: {},
    })
  }
  return commands.sort((a, b) => a.at - b.at)
}
