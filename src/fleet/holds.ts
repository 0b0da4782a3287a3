import { allPartitions, placeName } from '../bus/partitions.ts'
import type { TopicPartition } from '../bus/port.ts'
import {
  type HeldAccount,
  heldAccountText,
  heldPollsText,
  mendText,
  type StuckPartition,
  stuckText,
} from '../vocabulary/holds.ts'
import { count, timeText } from '../words.ts'
import type { Fleet, Process } from './fleet.ts'

/** Something that keeps commands from being sent, or doubts from being resolved. */
export interface Hold {
  kind: 'account' | 'polls' | 'partition' | 'process' | 'owner'
  /** What is held: an account, a partition, a process or a topic; null for everything. */
  name: string | null
  /** Key of `holdReasons` for an account, and such words for others. */
  reason: string
  /** Milliseconds since 1970; null if unknown. */
  since: number | null
  /** When the next probe may be sent, milliseconds since 1970; null if unknown. */
  probeAt: number | null
  /** Number of commands that are known to wait. */
  waiting: number
  /** The processes that say so. */
  processes: string[]
  /** What is held back and why, in words that begin with a small letter. */
  text: string
  /** What to do, in sentences. */
  mend: string
}

/** An account that processes hold back, as one. */
export interface HeldByAll extends HeldAccount {
  processes: string[]
}

/** What the processes hold back. @param partitions their number by command topic */
export function holdsOf(fleet: Fleet, partitions: ReadonlyMap<string, number>): Hold[] {
  return [
    ...heldAccounts(fleet.alive, 'held').map(held => ofAccount('account', held, heldAccountText(held))),
    ...unownedHolds(fleet, partitions),
    ...stuckPartitions(fleet.alive).map(ofStuck),
    ...fleet.alive.flatMap(ofProcess),
    ...heldAccounts(fleet.alive, 'polls').map(held => ofAccount('polls', held, heldPollsText(held))),
  ]
}

/** Accounts that some of these processes hold back, by account and reason: the earliest begin, and all that waits. */
export function heldAccounts(processes: readonly Process[], list: 'held' | 'polls'): HeldByAll[] {
  const all = processes.flatMap(({ name, report }) => report[list].map(held => ({ ...held, processes: [name] })))
  const groups = Map.groupBy(all, ({ account, reason }) => `${account} ${reason}`)
  return Array.from(groups.values(), group => ({
    ...group[0]!,
    since: earliest(group.map(({ since }) => since))!,
    probeAt: earliest(group.map(({ probeAt }) => probeAt)),
    waiting: group.reduce((sum, { waiting }) => sum + waiting, 0),
    processes: group.flatMap(({ processes }) => processes),
  })).toSorted((a, b) => b.waiting - a.waiting || a.since - b.since)
}

/** Foreign reports may hold more times than a call takes arguments. */
function earliest(times: readonly (number | null)[]): number | null {
  return times.reduce((least, time) => (time === null || (least !== null && least < time) ? least : time), null)
}

function ofAccount(kind: 'account' | 'polls', held: HeldByAll, text: string): Hold {
  const { account: name, reason, since, probeAt, waiting, processes } = held
  return { kind, name, reason, since, probeAt, waiting, processes, text, mend: mendText(reason) }
}

interface StuckAtProcess {
  stuck: StuckPartition
  process: string
}

/** Two roles of a process, and several processes, may read one partition. */
function stuckPartitions(processes: readonly Process[]): StuckAtProcess[] {
  const all = processes.flatMap(({ name, report }) => report.stuck.map(stuck => ({ stuck, process: name })))
  return [...new Map(all.map(one => [stuckText(one.stuck), one])).values()]
}

const registryMend = 'The operator must restore the schema registry.'

function ofStuck({ stuck, process }: StuckAtProcess): Hold {
  const { topic, partition, why } = stuck
  return {
    ...nothingKnown,
    ...{ kind: 'partition', name: `${topic}/${partition}`, reason: why, processes: [process], text: stuckText(stuck) },
    ...(why === 'schema' ? { since: stuck.since, mend: registryMend } : { mend: '' }),
  }
}

function ofProcess({ name, report }: Process): Hold[] {
  if (report.reasons.length === 0) return []
  const text = `process ${name} does not work: ${report.reasons.join('; ')}`
  return [{ ...nothingKnown, kind: 'process', name, reason: 'not ready', processes: [name], text, mend: '' }]
}

const mostNamed = 5

/** Partitions that no process owns. Without any worker, that is said once. */
function unownedHolds(fleet: Fleet, partitions: ReadonlyMap<string, number>): Hold[] {
  const text = noWorkerText(fleet)
  if (text !== null) return [{ ...nothingKnown, kind: 'owner', name: null, reason: 'no worker', text, mend: startMend }]
  return Array.from(partitions, ([topic, number]): Hold[] => {
    const unowned = allPartitions(topic, number).filter(tp => ownerOf(fleet, tp) === null)
    if (unowned.length === 0) return []
    const named = unowned.slice(0, mostNamed).map(placeName)
    const others = unowned.length - named.length
    const names = `${named.join(', ')}${others > 0 ? ` and ${count(others, 'more partition')}` : ''}`
    const text = `no worker owns ${names} now`
    return [{ ...nothingKnown, kind: 'owner', name: topic, reason: 'no owner', text, mend: ownerMend }]
  }).flat()
}

const startMend =
  'The operator must start busgate run with this kafka.groupId. If workers run, they lack the topic of reports, or WRITE of it.'
const ownerMend = 'A worker takes them over within a minute; else its /readyz says why not.'

/** Says that no worker runs; null if one does. */
export function noWorkerText({ alive, silent }: Fleet): string | null {
  if (alive.some(isWorker)) return null
  const [last] = silent.filter(isWorker).toSorted((a, b) => b.seenAt - a.seenAt)
  return `no worker has reported in the last minute${last ? `; ${last.name} was last heard at ${timeText(last.seenAt)}` : ''}`
}

const isWorker = ({ report }: Process) => report.roles.includes('worker')

/**
 * The process that owns a partition; null if none says so. If several do, the newest report counts: that of a killed process is
 * older than its successor's.
 */
export function ownerOf({ alive }: Fleet, { topic, partition }: TopicPartition): Process | null {
  const owners = alive.filter(({ report }) => report.owned[topic]?.[partition] !== undefined)
  return owners.reduce<Process | null>((newest, one) => (newest && newest.seenAt >= one.seenAt ? newest : one), null)
}

const nothingKnown: Pick<Hold, 'since' | 'probeAt' | 'waiting' | 'processes' | 'mend'> = {
  ...{ since: null, probeAt: null, waiting: 0, processes: [], mend: '' },
}

/** Whether a hold stops commands; the others only delay verdicts of doubts. */
export const stopsCommands = ({ kind }: Pick<Hold, 'kind'>): boolean => kind !== 'polls'
