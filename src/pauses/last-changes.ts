import { type Change, keyOf } from './change.ts'

/**
 * The last change of each scope. On one partition, which is all that the control topic should have, the order of the records
 * tells which that is; over several only the times do that their writers have set.
 */
export class LastChanges {
  readonly #last = new Map<string, { change: Change; partition: number }>()

  add(change: Change, partition: number): void {
    const key = keyOf(change)
    const known = this.#last.get(key)
    if (!known || known.partition === partition || known.change.at <= change.at)
      this.#last.set(key, { change, partition })
  }

  has(change: Change): boolean {
    return this.#last.has(keyOf(change))
  }

  *[Symbol.iterator](): Generator<Change> {
    for (const { change } of this.#last.values()) yield change
  }
}
