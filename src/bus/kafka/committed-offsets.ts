import type { TopicPartition } from '../port.ts'
import type { Committed } from '../session/driver.ts'
import type { Brokers } from '../wire/brokers.ts'
import { type ProtocolError, protocolError } from '../wire/errors.ts'
import { offsetFetch } from '../wire/offset-apis.ts'

/** A group's progress on one partition. */
export interface Progress extends TopicPartition {
  /** Null: there is none. */
  committed: Committed | null
  /** UNSTABLE_OFFSET_COMMIT while a transaction is open that is to change it. */
  error: ProtocolError | null
}

const limitMs = 3_000

/** Asks the group's coordinator once, and no other broker about the topics. @throws Error as it answers */
export async function committedOffsets(
  brokers: Brokers,
  groupId: string,
  tps: readonly TopicPartition[],
): Promise<Progress[]> {
  const { partitions } = await brokers.ask({ group: groupId }, offsetFetch, { groupId, tps }, { limitMs })
  return partitions.map(({ topic, partition, offset, metadata, errorCode }) => ({
    topic,
    partition,
    committed: offset < 0 ? null : { offset, metadata },
    error: errorCode ? protocolError(errorCode) : null,
  }))
}
