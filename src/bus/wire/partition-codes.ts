import type { TopicPartition } from '../port.ts'
import { protocolError } from './errors.ts'
import type { WireReader, WireWriter } from './fields.ts'

/** BrokerAnswer is what a broker answered; Brokers makes an exception of another code than 0. */
export interface BrokerAnswer {
  errorCode: number
  errorMessage?: string
}

interface PartitionCode extends TopicPartition {
  errorCode: number
}

export const byTopic = <T extends TopicPartition>(partitions: readonly T[]) =>
  Map.groupBy(partitions, ({ topic }) => topic)

/** Numbers of partitions are single fields, which no tags follow. */
export const writePartitions = (to: WireWriter, partitions: readonly TopicPartition[]): WireWriter =>
  to.array([...byTopic(partitions)], ([topic, ofTopic]) => {
    to.string(topic).values(ofTopic, ({ partition }) => void to.int32(partition))
  })

export function readPartitionCodes(from: WireReader): PartitionCode[] {
  from.skip(4) // throttle time
  const topics = from.array(() => {
    const topic = from.string()
    return from.array(() => ({ topic, partition: from.int32(), errorCode: from.int16() }))
  })
  return topics.flat()
}

/** The code of partitions that were left alone since another one failed. */
const notAttempted = 55

export function refusalIn(codes: readonly PartitionCode[]): BrokerAnswer {
  const refused = codes.filter(({ errorCode }) => errorCode !== 0)
  const [first] = refused.toSorted(
    (a, b) => Number(a.errorCode === notAttempted) - Number(b.errorCode === notAttempted),
  )
  if (!first) return { errorCode: 0 }
  const { topic, partition, errorCode } = first
  return { errorCode, errorMessage: `${topic}/${partition}: ${protocolError(errorCode).message}` }
}
