import type { Brokers } from './brokers.ts'
import { ProtocolError, protocolError } from './errors.ts'
import { offsetFetch } from './offset-apis.ts'
import { askPatiently, type Patience } from './patience.ts'
import type { CommittedOffset } from './transaction-apis.ts'

const longestPauseMs = 50
/** Late requests of the fenced come within some seconds, and not one after the other for ever. */
const mostTries = 20
const mayPass = (error: unknown) => error instanceof ProtocolError && error.retriable

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
  const target = { group: groupId }
  for (let tries = 0; ; tries++) {
    const asked = askPatiently({ brokers, target, patience, mayPass }, offsetFetch, { groupId, tps: offsets })
    const { partitions } = await asked
    const refused = partitions.find(({ errorCode }) => errorCode)
    if (!refused) {
      const found = new Map(partitions.map(one => [`${one.topic}/${one.partition}`, one]))
      return offsets.filter(({ topic, partition, offset, metadata }) => {
        const there = found.get(`${topic}/${partition}`)
        return there?.offset !== offset || (there.metadata ?? '') !== metadata
      })
    }
    const error = protocolError(refused.errorCode)
    if (error.type !== 'UNSTABLE_OFFSET_COMMIT' || !(await patience.pause(tries, longestPauseMs))) throw error
  }
}
