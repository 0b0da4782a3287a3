import {
  decodeConsumerProtocolAssignment,
  decodeConsumerProtocolSubscription,
  encodeConsumerProtocolAssignment,
  encodeConsumerProtocolSubscription,
} from '@platformatic/kafka'
import { byTopic } from '../cluster/apis.ts'
import type { TopicPartition } from '../port.ts'
import type { Assignment, Given, Subscription } from './assignment.ts'
import type { Announcement } from './installation.ts'

/**
 * Encodes subscriptions and assignments in Kafka's consumer protocol, in which members and leader exchange them through the
 * coordinator.
 */

/** First version with the owned partitions and their generation. */
const subscriptionVersion = 2
const assignmentVersion = 0

/** The user data holds the process's name and its announcement. */
export function encodeSubscription({ topics, process, owned }: Subscription, announcement?: Announcement): Buffer {
  return encodeConsumerProtocolSubscription({
    version: subscriptionVersion,
    topics: [...topics],
    userData: JSON.stringify({ process, ...announcement }),
    ownedPartitions: topicsOf(owned.partitions),
    generationId: owned.generation,
  })
}

/** Decodes a member's subscription. Another program's subscription cannot be decoded; that member is assigned nothing. */
export function decodeSubscription(metadata: Buffer): Subscription {
  try {
    const { topics, userData, ownedPartitions, generationId } = decodeConsumerProtocolSubscription(metadata)
    const { process = null } = userDataOf<{ process: string }>(userData)
    return { topics, process, owned: { generation: generationId, partitions: partitionsOf(ownedPartitions) } }
  } catch {
    return { topics: [], process: null, owned: { generation: -1, partitions: [] } }
  }
}

/** Decodes a member's announcement; null if it has none, or while the coordinator does not give it out. */
export function decodeAnnouncement(metadata: Buffer): Announcement | null {
  try {
    const { userData } = decodeConsumerProtocolSubscription(metadata)
    const { host, installation } = userDataOf<Announcement>(userData)
    return host !== undefined && installation ? { host, installation } : null
  } catch {
    return null
  }
}

/** The user data holds the number of partitions of each of the group's topics, and the processes in the group. */
export function encodeAssignment(
  partitions: readonly TopicPartition[],
  { counts, processes }: Pick<Assignment, 'counts' | 'processes'>,
): Buffer {
  return encodeConsumerProtocolAssignment({
    version: assignmentVersion,
    assignedPartitions: topicsOf(partitions),
    userData: JSON.stringify({ partitions: Object.fromEntries(counts), processes }),
  })
}

/** Decodes an assignment; null if no leader of busgate made it, but the coordinator, for a group of another program (KIP-848). */
export function decodeAssignment(bytes: Buffer): Given | null {
  const { assignedPartitions, userData } = decodeConsumerProtocolAssignment(bytes)
  const { partitions, processes } = userDataOf<{ partitions: Record<string, number>; processes: string[] }>(userData)
  if (!partitions || !processes) return null
  return { partitions: partitionsOf(assignedPartitions), counts: new Map(Object.entries(partitions)), processes }
}

interface TopicPartitions {
  topic: string
  partitions: number[]
}

const topicsOf = (partitions: readonly TopicPartition[]): TopicPartitions[] =>
  byTopic(partitions, ({ partition }) => partition).map(({ name: topic, partitions }) => ({ topic, partitions }))

const partitionsOf = (topics: readonly TopicPartitions[]): TopicPartition[] =>
  topics.flatMap(({ topic, partitions }) => partitions.map(partition => ({ topic, partition })))

/** Parses busgate's user data; ignores any other. */
function userDataOf<T>(userData: Buffer | null): Partial<T> {
  try {
    return (JSON.parse(String(userData)) ?? {}) as Partial<T>
  } catch {
    return {}
  }
}
