import type { Bus } from '../bus/port.ts'
import { unpackCheckpoint } from '../bus/session/checkpoint.ts'
import { windowSize } from '../bus/session/window.ts'
import type { FollowedTopic } from './followed-topic.ts'
import type { PartitionNow } from './now.ts'

/** Lag and window of each partition, by what the workers' group has committed and where the topics end. */
export async function groupProgress(
  bus: Bus,
  groupId: string,
  topics: readonly FollowedTopic[],
): Promise<PartitionNow[]> {
  const ends = topics.flatMap(({ topic, positions }) => positions.map((end, partition) => ({ topic, partition, end })))
  if (ends.length === 0) return []
  const progress = await bus.progress(groupId, ends)
  return ends.map(({ topic, partition, end }, i) => {
    const committed = progress[i]
    if (!committed) return { topic, partition, lag: null, window: 0 }
    const lag = Math.max(0, end - committed.offset)
    return { topic, partition, lag, window: windowUsed(committed) }
  })
}

function windowUsed({ offset, metadata }: { offset: number; metadata: string | null }): number {
  try {
    return unpackCheckpoint(offset, metadata).window.length / windowSize
  } catch {
    return 0 // written by something else: busgate doctor tells of it
  }
}
