import type { From, TopicPartition } from '../port.ts'
import { protocolError } from './cluster.ts'
import type { InternalBroker, InternalCluster } from './internals.ts'

/** What ListOffsets takes for a timestamp. */
const latest = -1
const earliest = -2

const unknownTopicOrPartition = 3
const leaderNotAvailable = 5

/** The node that leads the partition, as far as the metadata knows. @throws Error of the protocol */
export function leaderOf({ brokerPool }: InternalCluster, { topic, partition }: TopicPartition): number {
  const ofTopic = brokerPool.metadata?.topicMetadata.find(one => one.topic === topic)
  if (ofTopic?.topicErrorCode) throw protocolError(ofTopic.topicErrorCode)
  const found = ofTopic?.partitionMetadata.find(({ partitionId }) => partitionId === partition)
  if (!found) throw protocolError(unknownTopicOrPartition)
  if (found.leader < 0) throw protocolError(found.partitionErrorCode || leaderNotAvailable)
  return found.leader
}

export async function brokerOf(cluster: InternalCluster, tp: TopicPartition): Promise<InternalBroker> {
  return cluster.findBroker({ nodeId: leaderOf(cluster, tp) })
}

/** The last stable offset: the end of what readers of committed records may read. */
export function stableEndOf(cluster: InternalCluster, tp: TopicPartition): Promise<number> {
  return listOffset(cluster, tp, latest)
}

/** The end of the partition, open transactions included. */
export function endOf(cluster: InternalCluster, tp: TopicPartition): Promise<number> {
  return listOffset(cluster, tp, latest, 0)
}

/** `latest` is the last stable offset. */
export async function offsetAt(cluster: InternalCluster, tp: TopicPartition, from: From): Promise<number> {
  if (from === 'earliest') return listOffset(cluster, tp, earliest)
  const end = await stableEndOf(cluster, tp)
  if (from === 'latest') return end
  const offset = await listOffset(cluster, tp, Math.max(0, Math.ceil(from)))
  return offset >= 0 ? offset : end // no record was that young; what has come since is
}

async function listOffset(
  cluster: InternalCluster,
  tp: TopicPartition,
  timestamp: number,
  isolationLevel: 0 | 1 = 1,
): Promise<number> {
  const broker = await brokerOf(cluster, tp)
  const { responses } = await broker.listOffsets({
    isolationLevel,
    topics: [{ topic: tp.topic, partitions: [{ partition: tp.partition, timestamp }] }],
  })
  const { errorCode, offset } = responses[0]!.partitions[0]!
  if (errorCode) throw protocolError(errorCode)
  return Number(offset)
}
