import type { TopicPartition } from '../port.ts'
import { type Api, defineApi } from './api.ts'
import { byTopic } from './partition-codes.ts'

export interface ProduceRequest {
  /** Null outside of transactions. */
  transactionalId: string | null
  /** How long the leaders wait for their followers. */
  timeoutMs: number
  /** One at most of a partition. */
  batches: readonly EncodedBatch[]
}

export interface EncodedBatch extends TopicPartition {
  bytes: Buffer
}

export interface Produced extends TopicPartition {
  errorCode: number
  errorMessage: string | null
}

export type ProduceApi = Api<ProduceRequest, Produced[]>

const allInSync = -1

/** A partition has to be added to the transaction before; every broker that speaks it takes it so. */
export const produce = produceIn([9, 11])
/** The leader adds the partition to the transaction by itself (KIP-890). */
export const produceImplicitly = produceIn([12, 12])

function produceIn(versions: ProduceApi['versions']): ProduceApi {
  return defineApi<ProduceRequest, Produced[]>({
    name: 'Produce',
    key: 0,
    versions,
    flexible: 9,
    write(to, { transactionalId, timeoutMs, batches }) {
      to.string(transactionalId).int16(allInSync).int32(timeoutMs)
      to.array([...byTopic(batches)], ([topic, ofTopic]) => {
        to.string(topic).array(ofTopic, ({ partition, bytes }) => void to.int32(partition).buffer(bytes))
      })
    },
    read(from) {
      const topics = from.array(() => {
        const topic = from.string()
        return from.array(() => {
          const produced = { topic, partition: from.int32(), errorCode: from.int16() }
          from.skip(3 * 8) // first offset, time of appending, first offset of the log
          from.array(() => {
            from.skip(4)
            from.nullableString() // what is wrong with single records: the message below says it too
          })
          return { ...produced, errorMessage: from.nullableString() }
        })
      })
      return topics.flat()
    },
  })
}
