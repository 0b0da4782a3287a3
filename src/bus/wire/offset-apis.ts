import type { TopicPartition } from '../port.ts'
import { defineApi } from './api.ts'
import type { MemberIdentity } from './group-apis.ts'
import { type BrokerAnswer, byTopic, readPartitionCodes, refusalIn, writePartitions } from './partition-codes.ts'

/** Values that ListOffsets takes in place of a timestamp. */
export const latest = -1
export const earliest = -2

export interface ListOffsetsRequest {
  tps: readonly TopicPartition[]
  /** Milliseconds since 1970, or one of the above. */
  timestamp: number
  /** Whether the end is that of what readers of committed records may read. */
  committed: boolean
}

const client = -1
const unknown = -1

export interface ListedOffset extends TopicPartition {
  errorCode: number
  offset: number
}

/** Asks for an offset of each partition. Of one alone, its code is that of the answer. */
export const listOffsets = defineApi<ListOffsetsRequest, { errorCode: number; offsets: ListedOffset[] }>({
  name: 'ListOffsets',
  key: 2,
  versions: [2, 6],
  flexible: 6,
  write(to, { tps, timestamp, committed }, version) {
    to.int32(client).int8(committed ? 1 : 0)
    to.array([...byTopic(tps)], ([topic, ofTopic]) => {
      to.string(topic).array(ofTopic, ({ partition }) => {
        to.int32(partition)
        if (version >= 4) to.int32(unknown) // leader epoch
        to.int64(timestamp)
      })
    })
  },
  read(from, version) {
    from.skip(4) // throttle time
    const topics = from.array(() => {
      const topic = from.string()
      return from.array(() => {
        const place = { topic, partition: from.int32(), errorCode: from.int16() }
        const offset = from.skip(8).int64()
        if (version >= 4) from.skip(4)
        return { ...place, offset }
      })
    })
    const offsets = topics.flat()
    return { errorCode: offsets.length === 1 ? offsets[0]!.errorCode : 0, offsets }
  },
})

export interface CommittedPartition extends TopicPartition {
  /** -1: there is none. */
  offset: number
  metadata: string | null
  /** UNSTABLE_OFFSET_COMMIT: an open transaction is about to change it. */
  errorCode: number
}

export interface OffsetFetchRequest {
  groupId: string
  tps: readonly TopicPartition[]
}

/** Stable offsets only, which brokers know since Kafka 2.5. */
export const offsetFetch = defineApi<OffsetFetchRequest, { errorCode: number; partitions: CommittedPartition[] }>({
  name: 'OffsetFetch',
  key: 9,
  versions: [7, 7],
  flexible: 6,
  write(to, { groupId, tps }) {
    writePartitions(to.string(groupId), tps).boolean(true)
  },
  read(from) {
    from.skip(4) // throttle time
    const topics = from.array(() => {
      const topic = from.string()
      return from.array(() => {
        const place = { topic, partition: from.int32(), offset: from.int64() }
        from.skip(4) // leader epoch
        return { ...place, metadata: from.nullableString(), errorCode: from.int16() }
      })
    })
    return { partitions: topics.flat(), errorCode: from.int16() }
  },
})

export interface OffsetCommitRequest extends MemberIdentity {
  offsets: readonly (TopicPartition & { offset: number })[]
}

/** The progress of a member's group, without a transaction. Some offset refused is an error of the whole. */
export const offsetCommit = defineApi<OffsetCommitRequest, BrokerAnswer>({
  name: 'OffsetCommit',
  key: 8,
  versions: [7, 8],
  flexible: 8,
  write(to, { groupId, generation, memberId, instanceId, offsets }) {
    to.string(groupId).int32(generation).string(memberId).string(instanceId)
    to.array([...byTopic(offsets)], ([topic, ofTopic]) => {
      to.string(topic).array(ofTopic, ({ partition, offset }) => {
        to.int32(partition).int64(offset).int32(unknown).string('') // the leader's epoch, and metadata
      })
    })
  },
  read: from => refusalIn(readPartitionCodes(from)),
})
