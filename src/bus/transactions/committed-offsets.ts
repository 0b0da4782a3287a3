import { type Clock, sleep } from '../../clock.ts'
import { indexesByTopic, offsetFetch, partitionsIn } from '../cluster/apis.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { isTransient, type ProtocolError, protocolError } from '../cluster/errors.ts'
import type { Committed } from '../driver.ts'
import { PartitionMap } from '../partitions.ts'
import type { TopicPartition } from '../port.ts'

export interface GroupProgress extends TopicPartition {
  committed: Committed | null
  /** UNSTABLE_OFFSET_COMMIT while an open transaction has an offset for the partition. */
  error: ProtocolError | null
}

const limitMs = 3_000
const settledWithinMs = 500
const stableWithinMs = 3_000
const askAgainMs = 10

/**
 * Asks the group's coordinator once; needs no metadata of the topics.
 * @returns one entry per partition, in order
 * @throws Error as the coordinator answers
 */
export async function committedOffsets(
  brokers: Pick<Brokers, 'ask'>,
  groupId: string,
  tps: readonly TopicPartition[],
): Promise<GroupProgress[]> {
  const asked = { groupId, memberEpoch: -1, topics: indexesByTopic(tps) }
  const { groups } = await brokers.ask({ group: groupId }, offsetFetch, [[asked], true], { limitMs })
  const answered = partitionsIn(groups.flatMap(({ topics }) => topics))
  const found = new Map(answered.map(one => [`${one.topic}/${one.partition}`, one]))
  return tps.map(({ topic, partition }) => {
    const one = found.get(`${topic}/${partition}`)
    if (!one) throw new Error(`the coordinator's answer left out ${topic}/${partition}`)
    const { committedOffset, metadata, errorCode } = one
    const offset = Number(committedOffset)
    return {
      topic,
      partition,
      committed: offset < 0 ? null : { offset, metadata: metadata ?? null },
      error: errorCode ? protocolError(errorCode) : null,
    }
  })
}

/** Whether an open transaction has an offset for the partition. */
export const isUnstable = ({ error }: GroupProgress): boolean => isTransient(error, 'stability')

/**
 * Repeats the request until no open transaction has an offset for the partitions, at most for half a second. A restarted
 * broker may take a transaction that ended for open (seen with Kafka 4.3.0 on one node), until its producer begins another.
 * @returns the last answer
 */
export async function untilSettled(ask: () => Promise<GroupProgress[]>, clock: Clock): Promise<GroupProgress[]> {
  const started = clock.monotonic()
  for (;;) {
    const progress = await ask()
    if (!progress.some(isUnstable) || clock.monotonic() - started >= settledWithinMs) return progress
    await sleep(clock, askAgainMs)
  }
}

/**
 * The committed offset of each partition; null where none was ever committed. Asks again for those that an open transaction is
 * about to change: its group commits all the time.
 * @throws ProtocolError when one stays open for three seconds; Error as the coordinator answers
 */
export async function stableOffsets(
  brokers: Pick<Brokers, 'ask'>,
  groupId: string,
  tps: readonly TopicPartition[],
  clock: Clock,
): Promise<(Committed | null)[]> {
  const started = clock.monotonic()
  const found = new PartitionMap<Committed | null>()
  for (let left = tps; ; await sleep(clock, askAgainMs)) {
    const progress = await committedOffsets(brokers, groupId, left)
    for (const one of progress) found.set(one, one.committed)
    const refused = progress.filter(({ error }) => error !== null)
    if (refused.length === 0) return tps.map(tp => found.get(tp)!)
    if (!refused.every(isUnstable) || clock.monotonic() - started >= stableWithinMs) throw refused[0]!.error
    left = refused
  }
}
