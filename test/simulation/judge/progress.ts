import { PartitionMap } from '../../../src/bus/partitions.ts'
import type { TopicPartition } from '../../../src/bus/port.ts'
import { unpackCheckpoint } from '../../../src/bus/session/checkpoint.ts'
import type { Committed } from '../../../src/bus/session/driver.ts'
import { INTENT, type Window } from '../../../src/bus/session/window.ts'
import type { Owner } from '../scheduler.ts'
import type { Place } from './lives.ts'

export const stateIn = ({ offset, metadata }: Committed, place: Place) =>
  unpackCheckpoint(offset, metadata).window.get(place.offset)

const intentsIn = (window: Window) =>
  Array.from({ length: window.length }, (_, i) => window.get(window.base + i)).filter(state => state === INTENT).length

/** Knows which process has which partition, and what was committed there last. */
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

  /** An operator reset the group's offset there: its checkpoint is gone. */
  reset(tp: TopicPartition): void {
    this.#commits.delete(tp)
  }

  /** Whether the process has committed last there, and that it is going to send what is at the place. */
  isIntent(owner: Owner, place: Place): boolean {
    const last = this.#commits.get(place)
    return last?.owner === owner && stateIn(last, place) === INTENT
  }

  /** How many intents each process has, if there was a commit since this was asked last. */
  newIntents(): Map<Owner, number> {
    const counts = new Map<Owner, number>()
    if (!this.#isNew) return counts
    this.#isNew = false
    for (const { owner, offset, metadata } of this.#commits)
      counts.set(owner, (counts.get(owner) ?? 0) + intentsIn(unpackCheckpoint(offset, metadata).window))
    return counts
  }
}
