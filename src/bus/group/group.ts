import { committedOffsets } from '../cluster/committed-offsets.ts'
import { reachable } from '../cluster/errors.ts'
import { allPartitions, PartitionMap } from '../partitions.ts'
import type { TopicPartition } from '../port.ts'
import type { Fetcher } from '../read/fetcher.ts'
import type { PartitionOffsets } from '../read/partition-offsets.ts'
import type { Reading } from '../read/reading.ts'
import { TickBudget } from '../read/tick-budget.ts'
import { GroupMember } from '../session/member.ts'
import type { Ownership } from '../session/ownership.ts'
import { Coordinator, type CoordinatorOptions } from './coordinator.ts'
import { KafkaSharedCommits, type KafkaSharedCommitsOptions } from './shared-commits.ts'

export interface KafkaGroupOptions
  extends Omit<CoordinatorOptions, 'process' | 'protocol'>,
    Omit<KafkaSharedCommitsOptions, 'process' | 'member' | 'logs'> {
  logs: PartitionOffsets
  fetcher: Fetcher
  ownership: Ownership
  /** Receives the promise of a leave that closing the bus begins, so that it can be awaited. */
  leaving: (left: Promise<void>) => void
}

/** Longest age of the partition counts. The request that refreshes them also finds moved leaders. */
export const partitionsAgeMs = 10_000

/**
 * Joins the group; from then on Ownership receives assignments and batches.
 * @param closing aborts the join and leaves the group, whose other members would wait for this one; after the join, only
 *   Ownership leaves the group
 * @throws BusUnavailable; Error when the group refuses this process, or when kafka.startFrom forbids to begin
 */
export async function joinKafkaGroup(options: KafkaGroupOptions, closing: AbortSignal): Promise<void> {
  const { brokers, logs, topics, ownership } = options
  const process = options.instanceId ?? ownership.tag
  await reachable(brokers.refresh(topics))
  const coordinator = new Coordinator({ ...options, process, protocol: 'busgate' })
  const member = new GroupMember({ ...options, transport: coordinator, events: ownership, partitionsAgeMs })
  const shared = new KafkaSharedCommits({ ...options, process, member })
  const readings = new Readings(options)
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
    await coordinator.hasMembers() // a missing right on the group shows first
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
        unread: () => readings.unread,
        close,
      },
      topics,
    )
    await member.join()
  } catch (error) {
    close()
    throw error
  }
}

/** The readings of all partitions that this process owns or has owned. */
class Readings {
  readonly #options: Pick<KafkaGroupOptions, 'fetcher' | 'ownership'>
  readonly #readings = new PartitionMap<Reading>()
  readonly #ticks = new TickBudget()

  constructor(options: Pick<KafkaGroupOptions, 'fetcher' | 'ownership'>) {
    this.#options = options
  }

  /** Moves the reading of a partition for a new session. */
  cursor(tp: TopicPartition) {
    const { fetcher } = this.#options
    const reading = this.#readings.get(tp) ?? this.#create(tp)
    this.#readings.set(tp, reading)
    const change = (how: Pick<Reading, 'offset'> | Pick<Reading, 'paused'>) => {
      Object.assign(reading, how)
      fetcher.read(reading)
    }
    return {
      seek: (offset: number) => change({ offset }),
      pause: () => change({ paused: true }),
      resume: () => change({ paused: false }),
    }
  }

  /** The partitions that cannot be read now, each with the reason. */
  get unread(): string[] {
    return [...this.#readings].flatMap(reading => {
      const { topic, partition } = reading.tp
      const trouble = this.#options.fetcher.troubleOf(reading)
      return trouble === null ? [] : [`${topic}/${partition} cannot be read now: ${trouble}`]
    })
  }

  close(): void {
    for (const reading of this.#readings) this.#options.fetcher.forget(reading)
  }

  #create(tp: TopicPartition): Reading {
    const { ownership } = this.#options
    const reading: Reading = {
      tp,
      offset: 0,
      paused: true,
      take: (fetched, from) => {
        const { next: end, highWatermark } = fetched
        return this.#ticks.give(fetched, from, ({ records, from: fetchedOffset, next: nextOffset }) => {
          if (reading.offset !== end) return false // it was moved meanwhile
          ownership.batch({ ...tp, fetchedOffset, records, nextOffset, highWatermark })
          return true
        })
      },
      cut: ends => ownership.cut(ends),
      gone: error => ownership.gone(tp, error),
    }
    return reading
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
