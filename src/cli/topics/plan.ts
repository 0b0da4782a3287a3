import { type Settings, type TopicUse, topicsIn, topicUses, topology } from '../../config/index.ts'
import type { Topic } from '../kafka/cluster.ts'

/** A topic as busgate wants it. */
export interface PlannedTopic {
  topic: string
  use: TopicUse
  partitions: number
  replication: number
  /** Settings of the topic, by Kafka's names. */
  config: Record<'cleanup.policy' | 'min.insync.replicas', string> &
    Partial<Record<'retention.ms' | 'min.compaction.lag.ms', string>>
}

export interface ClusterState {
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

/** Partitions can only be added: the topic of a group that has the most is the measure for the others. */
export function planTopics(settings: Settings, circumstances: ClusterState): PlannedTopic[] {
  const { existing, nodes, replication = Math.min(mostReplicas, nodes) } = circumstances
  const topics = topicsIn(settings.topics)
  const most = (uses: readonly TopicUse[]) =>
    Math.max(0, ...topics.map(({ topic, use }) => (uses.includes(use) ? (existing.get(topic)?.partitions ?? 0) : 0)))
  const partitionsOf = (use: TopicUse) => {
    if (topology[use].partitions === 'single') return 1
    return circumstances.partitions ?? (most(sharing(use)) || most(grouped) || defaultPartitions)
  }
  return topics.map(({ topic, use }) => ({
    topic,
    use,
    partitions: partitionsOf(use),
    replication,
    config: { 'min.insync.replicas': String(minInSync(replication)), ...keeping(use, settings) },
  }))
}

const grouped = topicUses.filter(use => topology[use].partitions.startsWith('of '))

/** Tells which topics must have as many partitions as this one, itself among them. */
function sharing(use: TopicUse): TopicUse[] {
  return grouped.includes(use) ? grouped.filter(one => topology[one].partitions === topology[use].partitions) : [use]
}

/** One replica may be away. With fewer than three there is none to spare. */
function minInSync(replication: number): number {
  return replication >= 3 ? replication - 1 : 1
}

function keeping(use: TopicUse, { delivery }: Settings) {
  const { kept } = topology[use]
  if (kept === 'last of a key') return { 'cleanup.policy': 'compact', 'min.compaction.lag.ms': String(pausesMs) }
  const ms = kept === 'until seen' ? deadLettersMs : Math.max(weekMs, 2 * delivery.maxAgeMs)
  return { 'cleanup.policy': 'delete', 'retention.ms': String(ms) }
}
