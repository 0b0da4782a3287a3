import type { Committed } from '../../../src/bus/driver.ts'
import { PartitionMap } from '../../../src/bus/partitions.ts'
import type { TopicPartition } from '../../../src/bus/port.ts'
import { unpackCheckpoint } from '../../../src/bus/session/checkpoint.ts'
import { INTENT, type Window } from '../../../src/bus/session/window.ts'
import type { Owner } from '../scheduler.ts'
import type { Place } from './lives.ts'

export const stateIn = ({ offset, metadata }: Committed, place: Place) =>
  unpackCheckpoint(offset, metadata).window.get(place.offset)

const intentsIn = (window: Window) =>
  Array.from({ length: window.length }, (_, i) => window.get(window.base + i)).filter(state => state === INTENT).length

/** Holds the owner and the last commit of each partition. */
export class Progress {
  readonly #commits = new PartitionMap<Committed & { owner: Owner }>()
  readonly #owners = new PartitionMap<Owner>()
  #isNew = false

  assigned(owner: Owner, partitions: readonly TopicPartition[]): void {
    for (const tp of partitions) this.#owners.set(tp, owner)
  }

  ownerOf(tp: TopicPartition): Owner | undefined {
    return this.#owners.get(tp)
  }

  committed(owner: Owner, tp: TopicPartition, offset: number, metadata: string | null): void {
    this.#commits.set(tp, { owner, offset, metadata })
    this.#isNew = true
  }

  /** An operator has reset the group's offset of a partition, and so its checkpoint is gone. */
  reset(tp: TopicPartition): void {
    this.#commits.delete(tp)
  }

  /** Whether the last commit of a partition is by this process, and has an intent for this place. */
  isIntent(owner: Owner, place: Place): boolean {
    const last = this.#commits.get(place)
    return last?.owner === owner && stateIn(last, place) === INTENT
  }

  /** The number of intents of each process; empty if there was no commit since the last call. */
  newIntents(): Map<Owner, number> {
    const counts = new Map<Owner, number>()
    if (!this.#isNew) return counts
    this.#isNew = false
    for (const { owner, offset, metadata } of this.#commits)
      counts.set(owner, (counts.get(owner) ?? 0) + intentsIn(unpackCheckpoint(offset, metadata).window))
    return counts
  }
}
