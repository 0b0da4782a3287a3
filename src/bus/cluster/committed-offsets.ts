import { type Clock, sleep } from '../../clock.ts'
import type { TopicPartition } from '../port.ts'
import type { Committed } from '../session/driver.ts'
import { indexesByTopic, offsetFetch, partitionsIn } from './apis.ts'
import type { Brokers } from './brokers.ts'
import { type ProtocolError, passes, protocolError } from './errors.ts'

/** A group's progress on one partition. */
export interface GroupProgress extends TopicPartition {
  /** Null: there is none. */
  committed: Committed | null
  /** UNSTABLE_OFFSET_COMMIT while a transaction is open that is to change it. */
  error: ProtocolError | null
}

const limitMs = 3_000
const settledWithinMs = 500
const askAgainMs = 10

/**
 * Asks the group's coordinator once, and no other broker about the topics.
 * @returns the progress on each partition, in their order
 * @throws Error as it answers
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

/** Tells whether a transaction is open that is to change it. */
export const isUnstable = ({ error }: GroupProgress): boolean => passes(error, 'stability')

/**
 * Asks until no open transaction is to change any of the progress, or for half a second. A broker that was restarted may
 * have forgotten how a transaction ended (seen with Kafka 4.3.0 on one node), and only the next one of that producer takes
 * away what it holds.
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
