import {
  type API,
  addOffsetsToTxnV3,
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  describeConfigsV4,
  describeGroupsV5,
  describeProducersV0,
  endTxnV3,
  endTxnV4,
  findCoordinatorV3,
  heartbeatV4,
  initProducerIdV4,
  joinGroupV7,
  joinGroupV9,
  leaveGroupV4,
  listGroupsV4,
  listOffsetsV6,
  listTransactionsV0,
  metadataV11,
  offsetCommitV8,
  offsetFetchV8,
  protocolAPIsById,
  syncGroupV5,
  txnOffsetCommitV3,
  txnOffsetCommitV4,
} from '@platformatic/kafka'
import type { Isolation, TopicPartition } from '../port.ts'

/** A kind of request and the versions that busgate supports, oldest first. Kafka 3.0 supports the first. */
export interface Api<Q extends unknown[], A> {
  name: string
  key: number
  versions: readonly API<Q, A>[]
  /** Whether error codes of single topics or partitions do not fail the request; the caller checks them. */
  isPartial: boolean
}

export type Requested<T> = T extends Api<infer Q, infer _A> ? Q : never
export type Answered<T> = T extends Api<infer _Q, infer A> ? A : never

export function apiOf<Q extends unknown[], A>(...versions: readonly API<Q, A>[]): Api<Q, A> {
  const { key } = versions[0]!
  return { name: protocolAPIsById[key]!, key, versions, isPartial: false }
}

function partial<Q extends unknown[], A>(api: Api<Q, A>): Api<Q, A> {
  return { ...api, isPartial: true }
}

export const describeConfigs = apiOf(describeConfigsV4.api)
/** Request: names of topics, whether to create missing ones, whether to include this client's authorised operations. */
export const metadata: Api<[string[], boolean, boolean?], metadataV11.MetadataResponse> = partial(
  apiOf(metadataV11.api),
)
export const findCoordinator = apiOf(findCoordinatorV3.api)

/** Version 9 tells a static leader that rejoins to keep the current assignment. */
export const joinGroup = apiOf(joinGroupV7.api, joinGroupV9.api)
export const syncGroup = apiOf(syncGroupV5.api)
export const heartbeat = apiOf(heartbeatV4.api)
export const leaveGroup = apiOf(leaveGroupV4.api)
export const describeGroups = apiOf(describeGroupsV5.api)
export const listGroups = apiOf(listGroupsV4.api)

export const listOffsets = partial(apiOf(listOffsetsV6.api))
export const offsetFetch = partial(apiOf(offsetFetchV8.api))
export const offsetCommit = apiOf(offsetCommitV8.api)

export const initProducerId = apiOf(initProducerIdV4.api)
export const addPartitionsToTxn = apiOf(addPartitionsToTxnV3.api)
export const addOffsetsToTxn = apiOf(addOffsetsToTxnV3.api, addOffsetsToTxnV4.api)
export const txnOffsetCommit = apiOf(txnOffsetCommitV3.api, txnOffsetCommitV4.api)
export const endTxn = apiOf(endTxnV3.api, endTxnV4.api)
export const listTransactions = apiOf(listTransactionsV0.api)
export const describeProducers = apiOf(describeProducersV0.api)

/** Replica id of clients. */
export const consumerId = -1
/** The client does not know the leader epoch. */
export const noEpoch = -1
export const coordinatorKinds = { group: 0, transaction: 1 }
export const resourceTypes = { topic: 2, broker: 4 } as const
export const isolationLevels: Record<Isolation, number> = { uncommitted: 0, committed: 1 }

/** Groups partitions by topic, as requests need them. */
export function byTopic<T extends TopicPartition, P>(
  tps: readonly T[],
  of: (tp: T) => P,
): { name: string; partitions: P[] }[] {
  const topics = Map.groupBy(tps, ({ topic }) => topic)
  return [...topics].map(([name, ofTopic]) => ({ name, partitions: ofTopic.map(of) }))
}

/** Groups partitions by topic, for requests that hold only partition numbers. */
export function indexesByTopic(tps: readonly TopicPartition[]): { name: string; partitionIndexes: number[] }[] {
  return byTopic(tps, ({ partition }) => partition).map(({ name, partitions }) => ({
    name,
    partitionIndexes: partitions,
  }))
}

/** The partitions of an answer, in order. */
export function partitionsIn<P extends { partitionIndex: number }>(
  topics: readonly { name: string; partitions: readonly P[] }[],
): (P & TopicPartition)[] {
  return topics.flatMap(({ name: topic, partitions }) =>
    partitions.map(one => ({ ...one, topic, partition: one.partitionIndex })),
  )
}
