import { PartitionMap } from '../../../src/bus/partitions.ts'
import type { TopicPartition } from '../../../src/bus/port.ts'
import type { SendResult } from '../../../src/records/generated.ts'
import type { SimCommand } from '../commands.ts'

/** Where a command waits for its outcome: on its own partition, or on the doubts topic. */
export interface Place extends TopicPartition {
  offset: number
}

/** What became of one command. */
export interface Life {
  command: SimCommand
  places: Place[]
  /** Copies of it that were released, and where it waits on the table. */
  copies: Place[]
  waitsAt: Place | null
  /** POSTs that the gateway has not received yet. */
  inFlight: number
  executions: number
  /** Number of POSTs of which the first byte was written. */
  begun: number
  /** How often another owner put it in doubt, which counts as an attempt although its POST perhaps never began. */
  takenOver: number
  results: SendResult[]
  deadLetters: number
  /** Whether its record was deleted before its final result: then it may have none. */
  deleted: boolean
  /** Whether a process has requested a connection to send it. */
  hasRequestedConnection: boolean
}

export const placeOf = ({ topic, partition, offset }: Place) => `${topic}/${partition}@${offset}`
const isOn = (a: TopicPartition, b: TopicPartition) => a.topic === b.topic && a.partition === b.partition

export const nameOf = ({ command: { plan, topic, partition, offset } }: Life) =>
  `command ${plan.id} (${plan.type}, ${placeOf({ topic, partition, offset })})`

/** The number of its final results and dead letters. */
export const endsOf = ({ results, deadLetters }: Life) => results.filter(({ final }) => final).length + deadLetters

/** Holds every published command, and whether its record still exists. */
export class Lives implements Iterable<Life> {
  readonly #byPhone = new Map<number, Life>()
  readonly #byPlace = new Map<string, Life>()
  /** Partitions with deleted records: there it can be unknown that an id was sent before. */
  readonly #cut = new PartitionMap<true>()
  #open = 0

  /** Whether every published command has a final result or dead letter. */
  get allConcluded(): boolean {
    return this.#open === 0
  }

  [Symbol.iterator](): Iterator<Life> {
    return this.#byPhone.values()
  }

  /** The command with this phone, which no other command has. */
  withPhone(phone: number): Life {
    return this.#byPhone.get(phone)!
  }

  at(place: Place): Life | undefined {
    return this.#byPlace.get(placeOf(place))
  }

  /** The other commands with the same id. */
  twins(life: Life): Life[] {
    return [...this].filter(other => other !== life && other.command.plan.id === life.command.plan.id)
  }

  /** Whether workers must recognise one of the two commands, which have the same id, as a repeat of the other. */
  mustRecognise(one: Life, twin: Life): boolean {
    return isOn(one.command, twin.command) && !this.isCut(one.command)
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
      copies: [],
      waitsAt: null,
      inFlight: 0,
      executions: 0,
      begun: 0,
      takenOver: 0,
      results: [],
      deadLetters: 0,
      deleted: false,
      hasRequestedConnection: false,
    }
    this.#byPhone.set(command.phone, life)
    this.#byPlace.set(placeOf(place), life)
    this.#open++
  }

  /** Called at the first final result or dead letter of a command. */
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
