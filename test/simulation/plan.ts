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
/** parting: a process is asked to stop, and cut off from the bus for longer than the group waits for it. */
export const partingFaults = ['parting', 'join'] as const
/** moved: the group's coordinator is nowhere for a while. deletion: an operator deletes the oldest commands of a partition. */
export const groupFaults = ['join', 'leave', 'freeze', 'cut', 'moved', 'deletion'] as const
/** suspend: the machine of a process sleeps for a while. step: its wall clock is set. */
export const clockFaults = ['suspend', 'step'] as const
export type ProcessFault =
  | (typeof clockFaults)[number]
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

/** Operators pause something for a while. */
export type PausePlan = Extract<Scope, { effect: 'paused' }> & Spell

/** Operators withdraw something; what is written in the meantime is not sent either. */
export type WithdrawalPlan = Withdrawn & Spell

interface Spell {
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
  /** That of all commands with its id. */
  tenant: string | null
}

/** Everything that a seed decides beforehand. What happens in what order is the scheduler's to choose. */
export interface Plan {
  workers: number
  partitions: number
  /** Most records in one fetch. */
  fetchRecords: number
  /** The most that all sessions of a process may hold undone in memory; undefined: more than these worlds have. */
  backlog: Backlog | undefined
  commands: CommandPlan[]
  pauses: readonly PausePlan[]
  withdrawals: readonly WithdrawalPlan[]
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
  /** Milliseconds by which the wall clocks of processes may differ from true time. */
  skewMs: number
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
}
