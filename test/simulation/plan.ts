import type { Backlog } from '../../src/bus/port.ts'
import type { Scope, Withdrawn } from '../../src/control/change.ts'
import type { SendType } from '../../src/protocol/index.ts'
import type { SendCommandDelivery } from '../../src/records/generated.ts'

/** Milliseconds that something takes: up to `usual`, and by chance up to `most`. */
export interface Delay {
  usual: number
  rare: number
  most: number
}

export const processFaults = ['crash', 'freeze', 'cut', 'fence', 'join', 'leave', 'outage'] as const
/** parting: a process is told to stop, and cut off from the bus for longer than its session time-out. */
export const partingFaults = ['parting', 'join'] as const
/** moved: the group has no coordinator for a while. deletion: the oldest commands of a partition are deleted. */
export const groupFaults = ['join', 'leave', 'freeze', 'cut', 'moved', 'deletion'] as const
/** suspend: the machine of a process is suspended for a while. step: its wall clock is set. */
export const clockFaults = ['suspend', 'step'] as const
export type ProcessFault =
  | (typeof clockFaults)[number]
  | (typeof processFaults)[number]
  | (typeof groupFaults)[number]
  | (typeof partingFaults)[number]

/** Faults of a POST. `slow`: executed long after it was sent, but within the settle time. */
export const postFaults = [
  'unreachable',
  'queued',
  'slow',
  'lost',
  'reset',
  'cut',
  'refused by proxy',
  'error of proxy',
  'error after execution',
  'foreign',
  'items differ',
  'throttled',
  'refused',
] as const
export type PostFault = (typeof postFaults)[number]

/** What the gateway does with a command's operation; `poison`: it refuses every envelope that holds it. */
export type Reaction = 'accepts' | 'refuses' | 'throttles' | 'poison'

/** A pause by an operator. */
export type PausePlan = Extract<Scope, { effect: 'paused' }> & Period

/** A withdrawal by an operator, which holds for later commands until its end. */
export type WithdrawalPlan = Withdrawn & Period

interface Period {
  /** Virtual milliseconds. */
  at: number
  /** Milliseconds. */
  lasts: number
}

/** Topics to which an operator may add partitions while commands are sent. */
export const growingTopics = ['urgent', 'bulk', 'results', 'statuses', 'doubts', 'dead-letters'] as const
export type GrowingTopic = (typeof growingTopics)[number] | 'later'

/** Partitions that an operator adds. */
export interface GrowthPlan {
  topic: GrowingTopic
  more: number
  /** Virtual milliseconds. */
  at: number
  /** When operators stop all workers and reset the group's offsets, in virtual milliseconds. */
  resetAt: number | null
}

export interface CommandPlan {
  /**
   * `invalid`: against the gateway's interface. `garbage`: bytes that are no Avro. `moved`: its content was sealed for another
   * phone.
   */
  kind: 'valid' | 'invalid' | 'unknown account' | 'garbage' | 'unknown schema' | 'moved'
  /** Its own, or that of an earlier command on the same topic. */
  id: number
  type: SendType
  delivery: SendCommandDelivery
  account: 'default' | 'other'
  urgent: boolean
  /** When it is published, in virtual milliseconds. */
  at: number
  /** In milliseconds after its publication. */
  deadline: number | null
  reaction: Reaction
  /** All commands with one id have the same. */
  tenant: string | null
  campaign: string | null
  /** Not sent before, in milliseconds after its publication. */
  notBefore: number | null
  /** The key that its content is sealed with; null: it is in the clear. */
  kid: Kid | null
}

export const kids = ['steady', 'late', 'removed', 'missing'] as const
export type Kid = (typeof kids)[number]

/** When workers have a key of sealed content, in virtual milliseconds. */
export interface KeyPlan {
  kid: Kid
  from: number
  until: number
}

/** Processes that start from then on, in virtual milliseconds, refuse what others may have sent. */
export interface StrictPlan {
  from: number
  /** All countries of the world's phones. */
  countries: boolean
  /** What is not sealed. */
  clear: boolean
}

/** Everything that a seed decides in advance. The scheduler chooses the order of events. */
export interface Plan {
  workers: number
  partitions: number
  /** Of the table of commands that wait. */
  laterPartitions: number
  /** The limit of records in one fetch. */
  fetchRecords: number
  /** The limit of the memory of all sessions of a process. Undefined: more than a world needs. */
  backlog: Backlog | undefined
  commands: CommandPlan[]
  pauses: readonly PausePlan[]
  withdrawals: readonly WithdrawalPlan[]
  growths: readonly GrowthPlan[]
  keys: readonly KeyPlan[]
  strict: StrictPlan | null
  sessionTimeoutMs: number
  drainMs: number
  maxOperations: number
  concurrency: number
  /** The limit of commands that a kill may leave in doubt. Undefined: more than a world has. */
  maxIntents: number | undefined
  lingerMs: number
  timeoutMs: number
  rate: number | undefined
  default: 'AT_MOST_ONCE' | 'AT_LEAST_ONCE'
  settleMs: number
  polls: number
  attempts: number
  maxAgeMs: number
  /** Milliseconds by which the wall clocks of processes may differ from true time. */
  skewMs: number
  /** Whether gateway.notFoundTexts has the gateway's text. */
  notFound: boolean
  /** Whether the gateway refuses an id that it has executed. */
  refusesDuplicates: boolean
  /** Whether commands ask for callbacks. */
  hooks: boolean
  bus: Delay
  /** The delay of commits. Undefined: that of all other requests to the bus. */
  commits: Delay | undefined
  http: Delay
  /** The account whose answers come just before the time-out. */
  slowAccount: CommandPlan['account'] | null
  faults: Faults
}

export interface Faults {
  /** The end of the faults, in virtual milliseconds. */
  until: number
  /** The chance of a fault at each step at a port of a process. */
  rate: number
  most: number
  kinds: readonly ProcessFault[]
  /** The chance of a fault of a POST. */
  postRate: number
  posts: PostFault[]
  /** The chance that a take-over or commit fails for its caller. Whether it takes effect is random, too. */
  lostRate: number
  /** The chance that a join or sync fails for its caller. Whether it takes effect is random, too. */
  groupLostRate: number
  /** The chance that the registry does not answer. */
  registryRate: number
  /** How often the gateway denies a key, refuses everything or is unreachable for a while. */
  outages: number
}
