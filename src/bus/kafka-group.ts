import { reachable } from './cluster/errors.ts'
import { Coordinator, type CoordinatorOptions } from './membership/coordinator.ts'
import { type Announcement, protocolOf } from './membership/installation.ts'
import { GroupMember, isTaken } from './membership/member.ts'
import { allPartitions } from './partitions.ts'
import { BusUnavailable } from './port.ts'
import type { Fetcher } from './read/fetcher.ts'
import type { PartitionOffsets } from './read/partition-offsets.ts'
import { OwnedReadings } from './session/owned-readings.ts'
import type { Ownership } from './session/ownership.ts'
import { committedOffsets } from './transactions/committed-offsets.ts'
import { KafkaSharedCommits, type KafkaSharedCommitsOptions } from './transactions/shared-commits.ts'

export interface KafkaGroupOptions
  extends Omit<CoordinatorOptions, 'brokers' | 'process' | 'protocol' | 'announcement'>,
    Omit<KafkaSharedCommitsOptions, 'process' | 'member' | 'logs'> {
  logs: PartitionOffsets
  fetcher: Fetcher
  ownership: Ownership
  announcement: Announcement
  /** Receives the promise of a leave that closing the bus begins, so that it can be awaited. */
  leaving: (left: Promise<void>) => void
}

/** Longest age of the partition counts. The request that refreshes them also finds moved leaders. */
export const partitionsAgeMs = 10_000

/**
 * Joins the group; from then on Ownership receives assignments and batches.
 * @param closing aborts the join and leaves the group, whose other members would wait for this one; after the join, only
 *   Ownership leaves the group
 * @throws BusUnavailable, also while other members keep this one out; Error when the group refuses this process, or when kafka.startFrom forbids to begin
 */
export async function joinKafkaGroup(options: KafkaGroupOptions, closing: AbortSignal): Promise<void> {
  const { brokers, logs, topics, fetcher, ownership } = options
  const process = options.instanceId ?? ownership.tag
  await reachable(brokers.refresh(topics))
  const coordinator = new Coordinator({ ...options, process, protocol: protocolOf(options.announcement) })
  const member = new GroupMember({ ...options, transport: coordinator, events: ownership, partitionsAgeMs })
  const shared = new KafkaSharedCommits({ ...options, process, member })
  const readings = new OwnedReadings(fetcher, ownership)
  const end = () => {
    options.leaving(member.close())
    readings.close()
  }
  const close = () => {
    closing.removeEventListener('abort', end)
    readings.close()
  }
  const history = (topic: string) => {
    closing.throwIfAborted()
    return reachable(historyOf(topic, options, coordinator))
  }
  closing.addEventListener('abort', end)
  try {
    closing.throwIfAborted() // the listener misses an abort that came before it
    await coordinator.checkOthers() // before the proof, which fences a producer of the same name
    await reachable(shared.proveFencing({ topic: topics[0]!, partition: 0 }))
    await ownership.attach(
      {
        partition: tp => ({
          ...readings.cursor(tp),
          acquire: () => shared.acquire(tp),
          offsetAt: timestamp => logs.offsetAt(tp, timestamp),
        }),
        commit: parts => shared.commit(parts),
        history,
        ends: tp => reachable(logs.ends(tp)),
        hasMembers: () => coordinator.hasMembers(),
        member,
        unread: () => readings.unread(reading => fetcher.troubleOf(reading)),
        close,
      },
      topics,
    )
    await member.join()
  } catch (error) {
    close()
    if (!isTaken(error)) throw error
    await member.leave()
    throw new BusUnavailable(error.message, { cause: error })
  }
}

/** Whether the group has ever committed an offset, for each partition of the topic. */
async function historyOf(
  topic: string,
  { groupId, brokers }: KafkaGroupOptions,
  coordinator: Coordinator,
): Promise<boolean[]> {
  const count = (await coordinator.partitions([topic])).get(topic) ?? 0
  const progress = await committedOffsets(brokers, groupId, allPartitions(topic, count))
  return progress.map(({ error, committed }) => (error ?? committed) !== null)
}
