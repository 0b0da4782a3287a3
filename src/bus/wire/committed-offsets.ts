import { type Clock, sleep } from '../../clock.ts'
import type { TopicPartition } from '../port.ts'
import type { Committed } from '../session/driver.ts'
import { indexesByTopic, offsetFetch, partitionsIn } from './apis.ts'
import type { Brokers } from './brokers.ts'
import { type ProtocolError, passes, protocolError } from './errors.ts'
import { askPatiently, type Patience } from './patience.ts'
import type { CommittedOffset } from './transaction.ts'

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

const longestPauseMs = 50
/** Late requests of the fenced come within some seconds, and not one after the other for ever. */
const mostTries = 20

/**
 * Makes sure that the coordinator has what was committed. Those before Kafka 4.0 keep what open transactions are to change
 * by producer and not by epoch, so that a late request of whoever was fenced takes it away, and the progress of a
 * transaction whose end was confirmed is forgotten (seen with 3.9.1, in 286 of 300 tries). Without a late request nothing
 * is found missing.
 * @param missing asks what the coordinator does not have, once no open transaction is about to change it
 */
export async function keepProgress<T>(
  groupId: string,
  missing: () => Promise<readonly T[]>,
  commitAgain: (offsets: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    const offsets = await missing()
    if (offsets.length === 0) return
    if (tries === mostTries) {
      throw new Error(`group ${groupId} does not keep the progress that its coordinator confirmed`)
    }
    await commitAgain(offsets)
  }
}

/** Tells which of these the group's coordinator does not have, once no open transaction is about to change them. */
export async function missingProgress(
  { brokers, groupId, patience }: { brokers: Pick<Brokers, 'ask'>; groupId: string; patience: Patience },
  offsets: readonly CommittedOffset[],
): Promise<readonly CommittedOffset[]> {
  const patient: Pick<Brokers, 'ask'> = {
    ask: (target, api, request) => askPatiently({ brokers, target, patience, mayPass: passes }, api, request),
  }
  for (let tries = 0; ; tries++) {
    const progress = await committedOffsets(patient, groupId, offsets)
    const refused = progress.find(({ error }) => error)
    if (!refused) {
      return offsets.filter(({ offset, metadata }, i) => {
        const { committed } = progress[i]!
        return committed?.offset !== offset || (committed.metadata ?? '') !== metadata
      })
    }
    if (!isUnstable(refused) || !(await patience.pause(tries, longestPauseMs))) throw refused.error
  }
}
