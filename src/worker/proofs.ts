import type { Pending } from './pending.ts'

/** What a proof can be about: the id, and the partition of its record. */
export type Provable = Pick<Pending, 'command' | 'topic' | 'partition'>

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
  claim(pending: Pending, msgId: string | null): boolean {
    const counted = this.#counted.get(keyOf(pending)) ?? new Map<string | null, string>()
    const place = placeOf(pending, pending.record.offset)
    const holder = counted.get(msgId) ?? counted.get(null) ?? (msgId === null ? [...counted.values()][0] : undefined)
    if (holder !== undefined && holder !== place) return false
    this.#remember(keyOf(pending), counted.set(msgId, place))
    return true
  }

  /** Lets all proofs count for another record of the partition, which has the same id. */
  leaveTo(offset: number, one: Provable): void {
    this.#remember(keyOf(one), new Map([[null, placeOf(one, offset)]]))
  }

  #remember(key: string, counted: Map<string | null, string>): void {
    this.#counted.delete(key) // keeps the ids in the order of their last proof
    this.#counted.set(key, counted)
    if (this.#counted.size > most) this.#counted.delete(this.#counted.keys().next().value!)
  }
}

const keyOf = ({ command }: Provable) => `${command.idText} ${command.account}`

const placeOf = ({ topic, partition }: Provable, offset: number) => `${topic}/${partition}@${offset}`
