import type { Given } from '../session/assignment.ts'
import { Decoder, Encoder } from '../wire/fields.ts'

/** What members and leaders tell each other through the coordinator: version 0 of the protocol of consumers. */

const version = 0

export function encodeSubscription(topics: readonly string[]): Buffer {
  const to = new Encoder(false).int16(version)
  return to.values(topics, topic => to.string(topic)).buffer(Buffer.alloc(0)).bytes
}

/** What cannot be read is another program's: it is given nothing. */
export function decodeSubscription(metadata: Buffer): string[] {
  try {
    const from = new Decoder(metadata, false)
    return from.skip(2).values(() => from.string())
  } catch {
    return []
  }
}

/** Beside the partitions, as user data that older versions pass over, stands how many the group's topics have in all. */
export function encodeAssignment({ partitions, counts }: Given & { counts: ReadonlyMap<string, number> }): Buffer {
  const to = new Encoder(false).int16(version)
  to.array([...Map.groupBy(partitions, ({ topic }) => topic)], ([topic, ofTopic]) => {
    to.string(topic).values(ofTopic, ({ partition }) => to.int32(partition))
  })
  return to.buffer(Buffer.from(JSON.stringify({ partitions: Object.fromEntries(counts) }))).bytes
}

export function decodeAssignment(bytes: Buffer): Given {
  if (bytes.length === 0) return { partitions: [], counts: null }
  const from = new Decoder(bytes, false).skip(2)
  const partitions = from.array(() => {
    const topic = from.string()
    return from.values(() => ({ topic, partition: from.int32() }))
  })
  return { partitions: partitions.flat(), counts: countsIn(from.buffer()) }
}

function countsIn(userData: Buffer | null): Given['counts'] {
  try {
    const { partitions } = JSON.parse(String(userData)) as { partitions?: Record<string, number> }
    return partitions ? new Map(Object.entries(partitions)) : null
  } catch {
    return null
  }
}
