import { PartitionMap } from '../../../src/bus/partitions.ts'
import type { TopicPartition } from '../../../src/bus/port.ts'
import type { Doubt, SendResult } from '../../../src/records/generated.ts'
import type { SimCommand } from '../commands.ts'
import type { Owner } from '../scheduler.ts'

/** Where a command waits for its outcome: on its own partition, or among the doubts. */
export interface Place extends TopicPartition {
  offset: number
}

/** What became of one command. */
export interface Life {
  command: SimCommand
  places: Place[]
  /** POSTs on their way to the gateway. */
  underway: number
  executions: number
  results: SendResult[]
  /** The last of them, as it was written. */
  doubt: Doubt | null
  deadLetters: number
  /** Its record was deleted before it came to its end, or cannot be told from one that was: nobody may know of it. */
  deleted: boolean
  /** Its record went with the end of its log: another one can be at its offset. */
  gone: boolean
  /** Whether a connection was asked for to send it. */
  asked: boolean
  /** When its last POST began, and the process that made it. */
  began: { at: number; owner: Owner } | null
  /** When that process heard what came of it. */
  endedAt: number | null
}

export const placeOf = ({ topic, partition, offset }: Place) => `${topic}/${partition}@${offset}`
const isOn = (a: TopicPartition, b: TopicPartition) => a.topic === b.topic && a.partition === b.partition

export const nameOf = ({ command: { plan, topic, partition, offset } }: Life) =>
  `command ${plan.id} (${plan.type}, ${placeOf({ topic, partition, offset })})`

/** How often it came to its end. */
export const endsOf = ({ results, deadLetters }: Life) => results.filter(({ final }) => final).length + deadLetters

/** Knows every command that was published, and whether its record is still there. */
export class Lives implements Iterable<Life> {
  readonly counts = { truncations: 0, unknowable: 0 }
  readonly #byPhone = new Map<number, Life>()
  /** Several where a log lost its end: the last is the one that is there now. */
  readonly #byPlace = new Map<string, Life[]>()
  /** Up to where records of a partition cannot be told from those that its log lost. */
  readonly #unknowable = new PartitionMap<number>()
  /** Partitions of which records were deleted: what was sent before can be unknown there. */
  readonly #cut = new PartitionMap<true>()
  #open = 0

  /** Whether every command that was published has its end. */
  get allConcluded(): boolean {
    return this.#open === 0
  }

  [Symbol.iterator](): Iterator<Life> {
    return this.#byPhone.values()
  }

  /** The command that is sent to this number. Each has one of its own. */
  to(phone: number): Life {
    return this.#byPhone.get(phone)!
  }

  /** The command that is meant, where others stood before. */
  at(place: Place, isMeant: (life: Life) => boolean): Life | undefined {
    const lives = this.#byPlace.get(placeOf(place)) ?? []
    return lives.findLast(isMeant) ?? lives.at(-1)
  }

  /** The other commands with the same id. */
  twins(life: Life): Life[] {
    return [...this].filter(other => other !== life && other.command.plan.id === life.command.plan.id)
  }

  isCut(tp: TopicPartition): boolean {
    return this.#cut.get(tp) ?? false
  }

  published(command: SimCommand): void {
    const { topic, partition, offset } = command
    const place = { topic, partition, offset }
    const before = this.#byPlace.get(placeOf(place)) ?? []
    const isRepeated = before.some(one => one.command.plan.id === command.plan.id) // what is said of that one is its, too
    const isUnknowable = isRepeated || offset < (this.#unknowable.get(place) ?? 0)
    const life: Life = {
      command,
      places: [place],
      underway: 0,
      executions: 0,
      results: [],
      doubt: null,
      deadLetters: 0,
      deleted: isUnknowable,
      gone: false,
      asked: false,
      began: null,
      endedAt: null,
    }
    this.#byPhone.set(command.phone, life)
    this.#byPlace.set(placeOf(place), [...before, life])
    if (!life.deleted) this.#open++
  }

  /** It came to its end, the first time. */
  concluded(life: Life): void {
    if (!life.deleted) this.#open--
  }

  /** An operator deleted the records before this offset. */
  deleted(tp: TopicPartition, start: number): void {
    this.#cut.set(tp, true)
    for (const life of this) if (isOn(life.command, tp) && life.command.offset < start) this.#excuse(life)
  }

  /** The log lost its end: other records come at the offsets from this one on. */
  truncated(tp: TopicPartition, end: number): void {
    this.counts.truncations++
    this.#cut.set(tp, true)
    for (const life of this.#lastOn(tp)) {
      if (life.command.offset < end) continue
      life.gone = true
      this.#excuse(life)
    }
  }

  /** Nobody can tell what comes at these offsets from what was there before. */
  unknowable(tp: TopicPartition, from: number, to: number): void {
    this.counts.unknowable++
    this.#unknowable.set(tp, Math.max(to, this.#unknowable.get(tp) ?? 0))
    for (const life of this.#lastOn(tp)) {
      if (life.command.offset >= from && life.command.offset < to) this.#excuse(life)
    }
  }

  /** The commands that are on the partition. */
  #lastOn(tp: TopicPartition): Life[] {
    return [...this].filter(({ command, gone }) => !gone && isOn(command, tp))
  }

  #excuse(life: Life): void {
    if (life.deleted || endsOf(life) > 0) return
    life.deleted = true
    this.#open--
  }
}
