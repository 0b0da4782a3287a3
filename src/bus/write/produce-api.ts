import { createAPI, type Reader, Writer } from '@platformatic/kafka'
import { apiOf, byTopic } from '../cluster/apis.ts'
import type { TopicPartition } from '../port.ts'

export interface ProduceRequest {
  /** Null outside of transactions. */
  transactionalId: string | null
  /** Longest time that leaders wait for their followers. */
  timeoutMs: number
  /** At most one per partition. */
  batches: readonly EncodedBatch[]
}

export interface EncodedBatch extends TopicPartition {
  bytes: Buffer
}

export interface ProduceAnswer {
  throttleTimeMs: number
  partitions: Produced[]
}

export interface Produced extends TopicPartition {
  errorCode: number
  errorMessage: string | null
  /** Offset of the batch's first record; negative if unknown. */
  baseOffset: number
}

const allInSync = -1
const produceKey = 0
/** These differ only in the error codes of their answers. */
const versions = [9, 10, 11]

/** Sends encoded batches. The library's Produce takes three times as long to encode records. */
export const produce = apiOf(
  ...versions.map(version =>
    createAPI<[ProduceRequest], ProduceAnswer>(
      produceKey,
      version,
      writeProduce,
      (_correlation, _key, _version, from) => readProduced(from),
    ),
  ),
)

function writeProduce({ transactionalId, timeoutMs, batches }: ProduceRequest): Writer {
  return Writer.create()
    .appendString(transactionalId)
    .appendInt16(allInSync)
    .appendInt32(timeoutMs)
    .appendArray(
      byTopic(batches, one => one),
      (to, { name, partitions }) => {
        to.appendString(name).appendArray(partitions, (to, { partition, bytes }) => {
          to.appendInt32(partition).appendBytes(bytes)
        })
      },
    )
    .appendTaggedFields()
}

function readProduced(from: Reader): ProduceAnswer {
  const topics = from.readArray(() => {
    const topic = from.readString()
    return from.readArray(() => {
      const [partition, errorCode] = [from.readInt32(), from.readInt16()]
      const baseOffset = Number(from.readInt64())
      from.skip(2 * 8) // append time, log start offset
      from.readArray(() => {
        from.skip(4)
        from.readNullableString() // errors of single records; the message below repeats them
      })
      return { topic, partition, errorCode, baseOffset, errorMessage: from.readNullableString() }
    })
  })
  return { partitions: topics.flat(), throttleTimeMs: from.readInt32() }
}
