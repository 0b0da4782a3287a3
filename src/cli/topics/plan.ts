import type { Settings } from '../../config/index.ts'
import type { Topic } from '../kafka/cluster.ts'

export type Use = 'commands' | 'doubts' | 'results' | 'statuses' | 'overdue' | 'deadLetters'

/** A topic as busgate wants it. */
export interface PlannedTopic {
  topic: string
  use: Use
  partitions: number
  replication: number
  /** By Kafka's names. */
  config: Record<'cleanup.policy' | 'min.insync.replicas' | 'retention.ms', string>
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
const mostReplicas = 3

export const defaultPartitions = 4

/** Whose partitions must be as many as each other's: a partition of one stands for a partition of the other. */
const groups: Use[][] = [
  ['commands', 'doubts'],
  ['results', 'statuses', 'overdue'],
]

export function usesOf({ topics }: Settings): [topic: string, use: Use][] {
  const { commands, doubts, results, statuses, overdue, deadLetters } = topics
  return [
    ...commands.map((topic): [string, Use] => [topic, 'commands']),
    [doubts, 'doubts'],
    [results, 'results'],
    [statuses, 'statuses'],
    [overdue, 'overdue'],
    [deadLetters, 'deadLetters'],
  ]
}

/** Partitions can only be added: the topic of a group that has the most is the measure for the others. */
export function planTopics(settings: Settings, circumstances: Circumstances): PlannedTopic[] {
  const { existing, nodes, replication = Math.min(mostReplicas, nodes) } = circumstances
  const uses = usesOf(settings)
  const most = (wanted: readonly Use[]) =>
    Math.max(0, ...uses.map(([topic, use]) => (wanted.includes(use) ? (existing.get(topic)?.partitions ?? 0) : 0)))
  const partitionsOf = (use: Use) =>
    circumstances.partitions ??
    (most(groups.find(group => group.includes(use)) ?? [use]) || most(groups.flat()) || defaultPartitions)
  return uses.map(([topic, use]) => ({
    topic,
    use,
    partitions: partitionsOf(use),
    replication,
    config: {
      'cleanup.policy': 'delete',
      'min.insync.replicas': String(minInSync(replication)),
      'retention.ms': String(keepMs(use, settings)),
    },
  }))
}

/** One replica may be away. With fewer than three there is none to spare. */
function minInSync(replication: number): number {
  return replication >= 3 ? replication - 1 : 1
}

/** A command that is removed before it expires would have no result; the reconciler walks results some days old. */
function keepMs(use: Use, { delivery }: Settings): number {
  return use === 'deadLetters' ? deadLettersMs : Math.max(weekMs, 2 * delivery.maxAgeMs)
}
