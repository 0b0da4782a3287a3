import type { Pending } from './pending.ts'

/** Most ids to remember. */
const most = 10_000

/**
 * Counts each proof that a message was sent for one record. Statuses name an id, not a record: if several records have the id, a
 * status proves only one of them, and further ones only if it names another message of the gateway. The doubts of an id are on one
 * partition, so one process decides about all of them; it forgets the oldest ids.
 */
export class Proofs {
  /** By id, the record for which a proof counts, by the gateway's identifier in it; null if it named none. */
  readonly #counted = new Map<string, Map<string | null, string>>()

  /** @returns whether the proof counts for this record */
  claim({ command, topic, partition, record }: Pending, msgId: string | null): boolean {
    const key = `${command.idText} ${command.account}`
    const place = `${topic}/${partition}@${record.offset}`
    const counted = this.#counted.get(key) ?? new Map<string | null, string>()
    const holder = counted.get(msgId) ?? counted.get(null) ?? (msgId === null ? [...counted.values()][0] : undefined)
    if (holder !== undefined && holder !== place) return false
    this.#counted.delete(key) // keeps the ids in the order of their last proof
    this.#counted.set(key, counted.set(msgId, place))
    if (this.#counted.size > most) this.#counted.delete(this.#counted.keys().next().value!)
    return true
  }
}
