import type { TopicPartition } from '../port.ts'
import type { Assignment, Given, Subscription } from '../session/assignment.ts'
import { WireReader, WireWriter } from '../wire/fields.ts'
import { writePartitions } from '../wire/partition-codes.ts'

/** Members and leaders tell each other this through the coordinator: version 0 of the protocol of consumers. */

const version = 0

/** The user data beside the topics names the process. */
export function encodeSubscription({ topics, process }: Subscription): Buffer {
  const to = new WireWriter(false).int16(version)
  return to.values(topics, topic => to.string(topic)).buffer(Buffer.from(JSON.stringify({ process }))).bytes
}

/** Reads a member's subscription. One that cannot be read is another program's, which is given nothing. */
export function decodeSubscription(metadata: Buffer): Subscription {
  try {
    const from = new WireReader(metadata, false)
    const topics = from.skip(2).values(() => from.string())
    const { process } = told<{ process: string }>(from.buffer())
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
  const to = new WireWriter(false).int16(version)
  writePartitions(to, partitions)
  return to.buffer(Buffer.from(JSON.stringify({ partitions: Object.fromEntries(counts), processes }))).bytes
}

export function decodeAssignment(bytes: Buffer): Given {
  if (bytes.length === 0) return { partitions: [], counts: new Map(), processes: [] }
  const from = new WireReader(bytes, false).skip(2)
  const partitions = from.array(() => {
    const topic = from.string()
    return from.values(() => ({ topic, partition: from.int32() }))
  })
  const { partitions: counts = {}, processes = [] } = told<{ partitions: Record<string, number>; processes: string[] }>(
    from.buffer(),
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
