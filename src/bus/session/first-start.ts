import { type Clock, sleep } from '../../clock.ts'
import { PartitionMap } from '../partitions.ts'
import { BusUnavailable, type TopicPartition } from '../port.ts'
import type { GroupDriver, LogEnds } from './driver.ts'

export interface FirstStartOptions {
  clock: Clock
  groupId: string
  /** Where the group starts on a topic of which it has no checkpoint; `fail` refuses one that is not empty. */
  startFrom: 'earliest' | 'latest' | 'fail'
}

/** Another process that starts at the same time may be about to commit where the group begins. */
const firstStartPatienceMs = 3_000
const firstStartCheckMs = 250
/** A group that is new waits for more members before it lets any begin (group.initial.rebalance.delay.ms, 3 s and more). */
const firstRoundPatienceMs = 60_000

/** FirstStart knows where a partition without a checkpoint starts. It is decided once, before the group is joined. */
export class FirstStart {
  readonly #options: FirstStartOptions
  /** Where each partition's log ended when the group first started on its topic; only those start where kafka.startFrom says. */
  readonly #endsAtFirst = new PartitionMap<number>()

  constructor(options: FirstStartOptions) {
    this.#options = options
  }

  /** @throws Error when kafka.startFrom forbids to begin */
  async decide(group: GroupDriver, topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      for (const partition of await this.#fresh(group, topic)) this.#endsAtFirst.set(partition, partition.high)
    }
  }

  /** Tells where a partition without a checkpoint starts: one that was added, at its beginning. */
  offsetOf(tp: TopicPartition, low: number): number {
    const end = this.#options.startFrom === 'latest' ? this.#endsAtFirst.get(tp) : undefined
    return Math.max(low, end ?? low) // what has come since is sent, however late the partition is opened
  }

  /**
   * Tells where the topic's partitions end if the group first starts on it, at their ends; none where it started long
   * ago, so that a partition without a checkpoint is one that was added. Other processes may start at the same time:
   * whoever was first has decided where, and its checkpoints are waited for.
   */
  async #fresh(group: GroupDriver, topic: string): Promise<readonly LogEnds[]> {
    const { startFrom, clock } = this.#options
    const started = clock.monotonic()
    let ends: readonly LogEnds[] | null = null
    for (; ; await sleep(clock, firstStartCheckMs)) {
      const partitions = await group.history(topic)
      if (partitions.length === 0) throw unseen(topic)
      const known = partitions.filter(partition => partition.known).length
      if (startFrom === 'earliest' || known === partitions.length || (known > 0 && startFrom === 'fail')) return []
      if (known === 0) ends ??= await Promise.all(partitions.map(tp => group.ends(tp)))
      if (startFrom === 'fail' && ends?.every(({ low, high }) => low === high)) return []
      // asked behind the ends: a member that is not there yet begins no earlier
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
    `no partition of ${topic} can be seen now: it is looked for again. If that lasts, create the topic, or grant this ` +
      'client the right Describe on it',
  )
