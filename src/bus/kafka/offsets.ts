import type { From, TopicPartition } from '../port.ts'
import type { LogEnds } from '../session/driver.ts'
import { protocolError } from './cluster.ts'
import type { InternalBroker, InternalCluster } from './internals.ts'

/** What ListOffsets takes for a timestamp. */
const latest = -1
const earliest = -2

/** Isolation levels of the protocol. */
const uncommitted = 0
const committed = 1

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

/** `latest` is the last stable offset: the end of what readers of committed records may read. */
export async function offsetAt(cluster: InternalCluster, tp: TopicPartition, from: From): Promise<number> {
  if (from === 'earliest') return listOffset(cluster, tp, earliest)
  return from === 'latest' ? listOffset(cluster, tp, latest) : firstOffset(cluster, tp, from)
}

/** The first offset of a record of at least this time (milliseconds since 1970), or the end of what may be read. */
export async function firstOffset(cluster: InternalCluster, tp: TopicPartition, timestamp: number): Promise<number> {
  const end = await listOffset(cluster, tp, latest)
  const offset = await listOffset(cluster, tp, Math.max(0, Math.ceil(timestamp)))
  return offset >= 0 ? offset : end // no record was that young; what has come since is
}

/** The log's first offset and the one after its last, records of open transactions included. */
export async function logEnds(cluster: InternalCluster, tp: TopicPartition): Promise<LogEnds> {
  const low = await listOffset(cluster, tp, earliest, uncommitted)
  const high = await listOffset(cluster, tp, latest, uncommitted)
  return { ...tp, low, high }
}

async function listOffset(
  cluster: InternalCluster,
  tp: TopicPartition,
  timestamp: number,
  isolationLevel: 0 | 1 = committed,
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
