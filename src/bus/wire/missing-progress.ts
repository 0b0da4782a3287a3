import type { Brokers } from './brokers.ts'
import { ProtocolError, protocolError } from './errors.ts'
import { offsetFetch } from './offset-apis.ts'
import { askPatiently, type Patience } from './patience.ts'
import type { CommittedOffset } from './transaction-apis.ts'

const longestPauseMs = 50
const mayPass = (error: unknown) => error instanceof ProtocolError && error.retriable

/** Which of these the group's coordinator does not have, once no open transaction is about to change them. */
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
