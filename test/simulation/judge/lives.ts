import { PartitionMap } from '../../../src/bus/partitions.ts'
import type { TopicPartition } from '../../../src/bus/port.ts'
import type { SendResult } from '../../../src/records/generated.ts'
import type { SimCommand } from '../commands.ts'

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
  deadLetters: number
  /** Its record was deleted before it came to its end: nobody may know of it. */
  deleted: boolean
  /** Whether a connection was asked for to send it. */
  asked: boolean
}

export const placeOf = ({ topic, partition, offset }: Place) => `${topic}/${partition}@${offset}`
const isOn = (a: TopicPartition, b: TopicPartition) => a.topic === b.topic && a.partition === b.partition

export const nameOf = ({ command: { plan, topic, partition, offset } }: Life) =>
  `command ${plan.id} (${plan.type}, ${placeOf({ topic, partition, offset })})`

/** How often it came to its end. */
export const endsOf = ({ results, deadLetters }: Life) => results.filter(({ final }) => final).length + deadLetters

/** Knows every command that was published, and whether its record is still there. */
export class Lives implements Iterable<Life> {
  readonly #byPhone = new Map<number, Life>()
  readonly #byPlace = new Map<string, Life>()
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

  at(place: Place): Life | undefined {
    return this.#byPlace.get(placeOf(place))
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
    const life: Life = {
      command,
      places: [place],
      underway: 0,
      executions: 0,
      results: [],
      deadLetters: 0,
      deleted: false,
      asked: false,
    }
    this.#byPhone.set(command.phone, life)
    this.#byPlace.set(placeOf(place), life)
    this.#open++
  }

  /** It came to its end, the first time. */
  concluded(life: Life): void {
    if (!life.deleted) this.#open--
  }

  /** An operator deleted the records before this offset. */
  deleted(tp: TopicPartition, start: number): void {
    this.#cut.set(tp, true)
    for (const life of this) {
      if (!isOn(life.command, tp) || life.command.offset >= start || life.deleted || endsOf(life) > 0) continue
      life.deleted = true
      this.#open--
    }
  }
}
