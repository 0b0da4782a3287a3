import type { TopicPartition } from '../port.ts'
import type { Committed } from '../session/driver.ts'
import { protocolError } from './cluster.ts'
import { findCoordinator } from './find-coordinator.ts'
import type { InternalCluster } from './internals.ts'

/** A group's progress on one partition. */
export interface Progress extends TopicPartition {
  /** Null: there is none. */
  committed: Committed | null
  /** UNSTABLE_OFFSET_COMMIT while a transaction is open that is to change it. */
  error: (Error & { type?: string }) | null
}

/** Asks the group's coordinator once, and no other broker about the topics. @throws Error as it answers */
export async function committedOffsets(
  cluster: InternalCluster,
  groupId: string,
  tps: readonly TopicPartition[],
): Promise<Progress[]> {
  const coordinator = await findCoordinator(cluster, groupId)
  const topics = [...Map.groupBy(tps, ({ topic }) => topic)].map(([topic, partitions]) => ({ topic, partitions }))
  const { errorCode, responses } = await coordinator.offsetFetch({ groupId, topics })
  if (errorCode) throw protocolError(errorCode)
  return responses.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset, metadata, errorCode }) => ({
      topic,
      partition,
      committed: offset < 0 ? null : { offset, metadata },
      error: errorCode ? protocolError(errorCode) : null,
    })),
  )
}
