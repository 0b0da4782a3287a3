import type { Settings } from '../../config/index.ts'
import type { Topic } from '../kafka/cluster.ts'

export type Use = 'commands' | 'doubts' | 'results' | 'statuses' | 'overdue' | 'control' | 'deadLetters'

/** A topic as busgate wants it. */
export interface PlannedTopic {
  topic: string
  use: Use
  partitions: number
  replication: number
  /** Settings of the topic, by Kafka's names. */
  config: Record<'cleanup.policy' | 'min.insync.replicas', string> &
    Partial<Record<'retention.ms' | 'min.compaction.lag.ms', string>>
}

export interface Circumstances {
  existing: ReadonlyMap<string, Topic>
  /** How many brokers there are. */
  nodes: number
  /** What the user wants for new topics. */
  partitions?: number
  replication?: number
}

const dayMs = 24 * 3_600_000
const weekMs = 7 * dayMs
/** Somebody has to find the time to look at them. */
const deadLettersMs = 30 * dayMs
/** For so long at least it can be seen who paused what; the last change of each scope is kept for ever. */
const pausesMs = 30 * dayMs
const mostReplicas = 3

export const defaultPartitions = 4

/** Whose partitions must be as many as each other's: a partition of one stands for a partition of the other. */
const groups: Use[][] = [
  ['commands', 'doubts'],
  ['results', 'statuses', 'overdue'],
]

export function usesOf({ topics }: Settings): [topic: string, use: Use][] {
  const { commands, doubts, results, statuses, overdue, control, deadLetters } = topics
  return [
    ...commands.map((topic): [string, Use] => [topic, 'commands']),
    [doubts, 'doubts'],
    [results, 'results'],
    [statuses, 'statuses'],
    [overdue, 'overdue'],
    [control, 'control'],
    [deadLetters, 'deadLetters'],
  ]
}

/** Partitions can only be added: the topic of a group that has the most is the measure for the others. */
export function planTopics(settings: Settings, circumstances: Circumstances): PlannedTopic[] {
  const { existing, nodes, replication = Math.min(mostReplicas, nodes) } = circumstances
  const uses = usesOf(settings)
  const most = (wanted: readonly Use[]) =>
    Math.max(0, ...uses.map(([topic, use]) => (wanted.includes(use) ? (existing.get(topic)?.partitions ?? 0) : 0)))
  const partitionsOf = (use: Use) => {
    if (use === 'control') return 1
    const group = groups.find(group => group.includes(use)) ?? [use]
    return circumstances.partitions ?? (most(group) || most(groups.flat()) || defaultPartitions)
  }
  return uses.map(([topic, use]) => ({
    topic,
    use,
    partitions: partitionsOf(use),
    replication,
    config: { 'min.insync.replicas': String(minInSync(replication)), ...keeping(use, settings) },
  }))
}

/** One replica may be away. With fewer than three there is none to spare. */
function minInSync(replication: number): number {
  return replication >= 3 ? replication - 1 : 1
}

/** A command that is removed before it expires would have no result; the reconciler walks results some days old. */
function keeping(use: Use, { delivery }: Settings) {
  if (use === 'control') return { 'cleanup.policy': 'compact', 'min.compaction.lag.ms': String(pausesMs) }
  const ms = use === 'deadLetters' ? deadLettersMs : Math.max(weekMs, 2 * delivery.maxAgeMs)
  return { 'cleanup.policy': 'delete', 'retention.ms': String(ms) }
}
