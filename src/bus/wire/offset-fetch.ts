import type { TopicPartition } from '../port.ts'
import type { Committed } from '../session/driver.ts'
import { defineApi } from './api.ts'
import type { Brokers } from './brokers.ts'
import { type ProtocolError, protocolError } from './errors.ts'

/** A group's progress on one partition. */
export interface Progress extends TopicPartition {
  /** Null: there is none, or the error keeps it. */
  committed: Committed | null
  /** UNSTABLE_OFFSET_COMMIT while a transaction is open that is to change it. It holds back no other partition. */
  error: ProtocolError | null
}

/** The first version can ask for stable offsets (Kafka 2.5); a later one, for several groups at once. */
export const offsetFetch = defineApi<
  { groupId: string; partitions: readonly TopicPartition[] },
  { errorCode: number; progress: Progress[] }
>({
  name: 'OffsetFetch',
  key: 9,
  versions: [7, 7],
  flexible: 6,
  write(to, { groupId, partitions }) {
    to.string(groupId).array([...Map.groupBy(partitions, ({ topic }) => topic)], ([topic, ofTopic]) => {
      to.string(topic).values(ofTopic, ({ partition }) => void to.int32(partition))
    })
    to.boolean(true) // stable offsets alone
  },
  read(from) {
    from.skip(4) // throttle time
    const topics = from.array(() => {
      const topic = from.string()
      return from.array((): Progress => {
        const partition = from.int32()
        const offset = from.int64()
        from.skip(4) // the leader's epoch
        const metadata = from.nullableString()
        const errorCode = from.int16()
        const error = errorCode ? protocolError(errorCode) : null
        return { topic, partition, committed: offset < 0 || error ? null : { offset, metadata }, error }
      })
    })
    return { progress: topics.flat(), errorCode: from.int16() }
  },
})

/** What the group has committed, and will keep: of many partitions at once. @throws ProtocolError; Unanswered */
export async function committedOffsets(
  brokers: Pick<Brokers, 'ask'>,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<Progress[]> {
  const { progress } = await brokers.ask({ group: groupId }, offsetFetch, { groupId, partitions }, { lane: 'commit' })
  return progress
}
