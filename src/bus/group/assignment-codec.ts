import { Reader, Writer } from '@platformatic/kafka'
import { byTopic } from '../cluster/apis.ts'
import type { TopicPartition } from '../port.ts'
import type { Assignment, Given, Subscription } from '../session/assignment.ts'

/** Members and leaders tell each other this through the coordinator: version 0 of the protocol of consumers. */

const version = 0
/** Lengths in this protocol have a fixed size. */
const compact = false

/** The user data beside the topics names the process. */
export function encodeSubscription({ topics, process }: Subscription): Buffer {
  const to = Writer.create().appendInt16(version)
  to.appendArray([...topics], (to, topic) => void to.appendString(topic, compact), compact, false)
  return to.appendBytes(Buffer.from(JSON.stringify({ process })), compact).buffer
}

/** Reads a member's subscription. One that cannot be read is another program's, which is given nothing. */
export function decodeSubscription(metadata: Buffer): Subscription {
  try {
    const from = Reader.from(metadata).skip(2)
    const topics = from.readArray(() => from.readString(compact), compact, false)
    const { process } = told<{ process: string }>(from.readNullableBytes(compact))
    return { topics, process: process ?? null }
  } catch {
    return { topics: [], process: null }
  }
}

/** Beside the partitions stands how many the group's topics have in all, and who is in the group. */
export function encodeAssignment(
  partitions: readonly TopicPartition[],
  { counts, processes }: Pick<Assignment, 'counts' | 'processes'>,
): Buffer {
  const to = Writer.create().appendInt16(version)
  const writeTopic = (to: Writer, { name, partitions }: { name: string; partitions: number[] }) => {
    to.appendString(name, compact).appendArray(partitions, (to, one) => void to.appendInt32(one), compact, false)
  }
  to.appendArray(
    byTopic(partitions, ({ partition }) => partition),
    writeTopic,
    compact,
    false,
  )
  const userData = JSON.stringify({ partitions: Object.fromEntries(counts), processes })
  return to.appendBytes(Buffer.from(userData), compact).buffer
}

export function decodeAssignment(bytes: Buffer): Given {
  if (bytes.length === 0) return { partitions: [], counts: new Map(), processes: [] }
  const from = Reader.from(bytes).skip(2)
  const readTopic = () => {
    const topic = from.readString(compact)
    return from.readArray(() => ({ topic, partition: from.readInt32() }), compact, false)
  }
  const partitions = from.readArray(readTopic, compact, false)
  const { partitions: counts = {}, processes = [] } = told<{ partitions: Record<string, number>; processes: string[] }>(
    from.readNullableBytes(compact),
  )
  return { partitions: partitions.flat(), counts: new Map(Object.entries(counts)), processes }
}

/** Reads the user data that busgate writes; any other is passed over. */
function told<T>(userData: Buffer | null): Partial<T> {
  try {
    return (JSON.parse(String(userData)) ?? {}) as Partial<T>
  } catch {
    return {}
  }
}
