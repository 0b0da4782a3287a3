import {
  decodeConsumerProtocolAssignment,
  decodeConsumerProtocolSubscription,
  encodeConsumerProtocolAssignment,
  encodeConsumerProtocolSubscription,
} from '@platformatic/kafka'
import { byTopic } from '../cluster/apis.ts'
import type { TopicPartition } from '../port.ts'
import type { Assignment, Given, Subscription } from '../session/assignment.ts'

/** Members and leaders tell each other this through the coordinator, by Kafka's protocol of consumers. */

/** The first version of a subscription that names what the member owns, and since which generation. */
const subscriptionVersion = 2
const assignmentVersion = 0

/** The user data names the process. */
export function encodeSubscription({ topics, process, owned }: Subscription): Buffer {
  return encodeConsumerProtocolSubscription({
    version: subscriptionVersion,
    topics: [...topics],
    userData: JSON.stringify({ process }),
    ownedPartitions: topicsOf(owned.partitions),
    generationId: owned.generation,
  })
}

/** Reads a member's subscription. One that cannot be read is another program's, which is given nothing. */
export function decodeSubscription(metadata: Buffer): Subscription {
  try {
    const { topics, userData, ownedPartitions, generationId } = decodeConsumerProtocolSubscription(metadata)
    const { process = null } = told<{ process: string }>(userData)
    return { topics, process, owned: { generation: generationId, partitions: partitionsOf(ownedPartitions) } }
  } catch {
    return { topics: [], process: null, owned: { generation: -1, partitions: [] } }
  }
}

/** The user data tells how many partitions the group's topics have in all, and who is in the group. */
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

export function decodeAssignment(bytes: Buffer): Given {
  const { assignedPartitions, userData } = decodeConsumerProtocolAssignment(bytes)
  const { partitions = {}, processes = [] } = told<{ partitions: Record<string, number>; processes: string[] }>(
    userData,
  )
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

/** Reads the user data that busgate writes; any other is passed over. */
function told<T>(userData: Buffer | null): Partial<T> {
  try {
    return (JSON.parse(String(userData)) ?? {}) as Partial<T>
  } catch {
    return {}
  }
}
