import { type Clock, sleep } from '../../clock.ts'
import type { GroupDriver, LogEnds } from '../driver.ts'
import { allPartitions, PartitionMap } from '../partitions.ts'
import { BusUnavailable } from '../port.ts'

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

/**
 * End of each partition's log at the group's first start on its topic: kafka.startFrom applies to these partitions only.
 * Asked once, before the group is joined.
 */
export async function firstEnds(
  options: FirstStartOptions,
  group: GroupDriver,
  topics: readonly string[],
): Promise<PartitionMap<number>> {
  const ends = new PartitionMap<number>()
  for (const topic of topics) {
    for (const partition of await endsAtFirstStart(options, group, topic)) ends.set(partition, partition.high)
  }
  return ends
}

/**
 * Ends of the topic's partitions if this is the group's first start on it; empty if the group started earlier, so that a
 * partition without a checkpoint must be an added one. If processes start at the same time, the first one decides, and the
 * others wait for its checkpoints.
 */
async function endsAtFirstStart(
  options: FirstStartOptions,
  group: GroupDriver,
  topic: string,
): Promise<readonly LogEnds[]> {
  const { startFrom, clock } = options
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
    if (startFrom === 'fail') throw refusal(options, topic)
    return ends ?? []
  }
}

function refusal({ groupId }: FirstStartOptions, topic: string): Error {
  return new Error(
    `the group ${groupId} has no committed offset on ${topic}, which is not empty. If kafka.groupId ` +
      'was changed by mistake, correct it: everything in the topic would be sent again. If this is the first start, ' +
      'set kafka.startFrom (BUSGATE_KAFKA_START_FROM) to earliest, or to latest to skip the existing commands',
  )
}

const unseen = (topic: string) =>
  new BusUnavailable(
    `no partition of ${topic} is visible now; retrying. If that lasts, create the topic, or grant this ` +
      'client the right Describe on it',
  )
