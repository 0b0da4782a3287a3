import { type Clock, sleep } from '../../clock.ts'
import { allPartitions, PartitionMap } from '../partitions.ts'
import { BusUnavailable, type TopicPartition } from '../port.ts'
import type { GroupDriver, LogEnds } from './driver.ts'

export interface FirstStartOptions {
  clock: Clock
  groupId: string
  /** Where the group starts on a topic without a checkpoint; `fail` refuses a topic that is not empty. */
  startFrom: 'earliest' | 'latest' | 'fail'
}

/** Another process that starts at the same time may be about to commit the first checkpoints. */
const firstStartPatienceMs = 3_000
const firstStartCheckMs = 250
/** The coordinator delays the first generation of a new group (group.initial.rebalance.delay.ms, 3 s or more). */
const firstRoundPatienceMs = 60_000

/** Decides where partitions without a checkpoint start; once, before the group is joined. */
export class FirstStart {
  readonly #options: FirstStartOptions
  /**
   * End of each partition's log at the group's first start on its topic. kafka.startFrom applies to these partitions only.
   */
  readonly #endsAtFirst = new PartitionMap<number>()

  constructor(options: FirstStartOptions) {
    this.#options = options
  }

  async decide(group: GroupDriver, topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      for (const partition of await this.#fresh(group, topic)) this.#endsAtFirst.set(partition, partition.high)
    }
  }

  /** Start offset of a partition without a checkpoint. An added partition starts at its beginning. */
  offsetOf(tp: TopicPartition, low: number): number {
    const end = this.#options.startFrom === 'latest' ? this.#endsAtFirst.get(tp) : undefined
    return Math.max(low, end ?? low) // records that arrive before the partition is opened are sent too
  }

  /**
   * Ends of the topic's partitions if this is the group's first start on it; empty if the group started earlier, so that a
   * partition without a checkpoint must be an added one. If processes start at the same time, the first one decides, and the
   * others wait for its checkpoints.
   */
  async #fresh(group: GroupDriver, topic: string): Promise<readonly LogEnds[]> {
    const { startFrom, clock } = this.#options
    const started = clock.monotonic()
    let ends: readonly LogEnds[] | null = null
    for (; ; await sleep(clock, firstStartCheckMs)) {
      const partitions = await group.history(topic)
      if (partitions.length === 0) throw unseen(topic)
      const known = partitions.filter(isKnown => isKnown).length
      if (startFrom === 'earliest' || known === partitions.length || (known > 0 && startFrom === 'fail')) return []
      if (known === 0) {
        ends ??= await Promise.all(allPartitions(topic, partitions.length).map(tp => group.ends(tp)))
      }
      if (startFrom === 'fail' && ends?.every(({ low, high }) => low === high)) return []
      // asked after the ends were read: a member that joins later begins at or after them
      const isAlone = !(await group.hasMembers())
      if (startFrom === 'latest' && known === 0 && isAlone) return ends!
      if (clock.monotonic() - started < (isAlone ? firstStartPatienceMs : firstRoundPatienceMs)) continue
      if (startFrom === 'fail') throw this.#refusal(topic)
      return ends ?? []
    }
  }

  #refusal(topic: string): Error {
    return new Error(
      `the group ${this.#options.groupId} has no committed offset on ${topic}, which is not empty. If kafka.groupId ` +
        'was changed by mistake, correct it: everything in the topic would be sent again. If this is the first start, ' +
        'set kafka.startFrom to earliest, or to latest to skip the existing commands',
    )
  }
}

const unseen = (topic: string) =>
  new BusUnavailable(
    `no partition of ${topic} is visible now; retrying. If that lasts, create the topic, or grant this ` +
      'client the right Describe on it',
  )
