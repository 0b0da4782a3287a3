import { boundedFacts, type LaterFacts, type LaterKey } from '../../records/later.ts'
import { expiresAt, type Pending } from '../pending.ts'

/** What the table keeps of a command. @param maxAgeMs commands.maxAgeMs */
export function waitOf(pending: Pending, maxAgeMs: number): [LaterKey, LaterFacts] {
  const { topic, partition, record, command, appendedAt, copyAt = null } = pending
  const { id, account, type, correlationId, tenant, campaign, country, notBefore } = command
  const facts = {
    ...{ account, type, correlationId, tenant, campaign, country, notBefore, copyAt },
    since: appendedAt,
    timestamp: record.timestamp,
    expiresAt: expiresAt(pending, maxAgeMs),
  }
  return [{ topic, partition, offset: record.offset, id }, boundedFacts(facts)]
}
