import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BusRecord, TopicPartition } from '../../src/bus/port.ts'
import { type Letter, placeText } from '../../src/inspect/dead-letters/letter.ts'
import { errorHeaders } from '../../src/records/dead-letter.ts'
import { indexOf } from './load.ts'

/** An offset that a dead letter tells to be lost. */
interface ToldLoss {
  place: string
  /** The command that was there; undefined if no record of a command was deleted there. */
  index: number | undefined
  perhapsSent: boolean
  ofCommands: boolean
  /** Whether it was lost before it was read: it may have been the mark of a transaction, and the letter says so. */
  mayBeNone: boolean
}

/** How a command ended, to compare with what is told of it. */
export interface Ends {
  hasFinal(index: number): boolean
  executionsOf(index: number): number
}

/** The records of commands and doubts that were deleted on purpose, and what busgate tells of them. */
export class Losses {
  /** Commands by place. */
  readonly #deleted = new Map<string, number>()
  readonly #told: ToldLoss[] = []
  /** The places that were told, with how often their topic had been created again: it has other records then. */
  readonly #toldOf = new Set<string>()
  readonly #recreations = new Map<string, number>()
  /** Commands that are told to be lost while they waited. */
  readonly #waiting: { index: number; perhapsSent: boolean }[] = []
  readonly #commandTopics: readonly string[]
  /** The folder with the logs of the processes. */
  readonly #folder: string

  constructor(commandTopics: readonly string[], folder: string) {
    this.#commandTopics = commandTopics
    this.#folder = folder
  }

  /** These records, whose keys are ids of commands, are about to be deleted. */
  deleted(tp: TopicPartition, records: readonly BusRecord[]): void {
    for (const { offset, key } of records) this.#deleted.set(placeText({ ...tp, offset }), indexOf(BigInt(String(key))))
  }

  /** The topic was created again: its places have other records. */
  recreated(topic: string): void {
    this.#recreations.set(topic, (this.#recreations.get(topic) ?? 0) + 1)
    for (const place of this.#deleted.keys()) if (place.startsWith(`${topic}/`)) this.#deleted.delete(place)
  }

  isDeleted(index: number): boolean {
    return [...this.#deleted.values()].includes(index)
  }

  /** @returns the commands that the dead letter tells to be lost */
  tell({ origin, perhapsSent, message }: Letter, { headers }: BusRecord): number[] {
    if (origin === null) return []
    const length = Number(headers[errorHeaders.lastOffset] ?? origin.offset) - origin.offset + 1
    const ofCommands = this.#commandTopics.includes(origin.topic)
    const mayBeNone = /some may hold none|if they held any/.test(message)
    const told = Array.from({ length }, (_, i): ToldLoss => {
      const place = placeText({ ...origin, offset: origin.offset + i })
      return { place, index: this.#deleted.get(place), perhapsSent, ofCommands, mayBeNone }
    })
    this.#told.push(...told)
    for (const { place } of told) this.#toldOf.add(`${place} of ${this.#recreations.get(origin.topic) ?? 0}`)
    return told.flatMap(({ index }) => index ?? [])
  }

  /** A dead letter tells that the command was lost while it waited. */
  tellWaiting(index: number, perhapsSent: boolean): void {
    this.#waiting.push({ index, perhapsSent })
  }

  /** The number of doubts that were lost with their topic, by the logs. */
  get doubtsLostWithTopic(): number {
    return this.#logged('doubts.lost').reduce((sum, { count }) => sum + Number(count), 0)
  }

  /** Counts that must be 0: what is told of records that were not lost, and what is told twice or wrongly. */
  falsehoods({ hasFinal, executionsOf }: Ends): Record<string, number> {
    const places = new Set(this.#told.map(({ place }) => place))
    const cuts = this.#logged('log.cut')
    const logged = new Set(cuts.flatMap(placesIn))
    const shortened = cuts.filter(isShortened).map(({ topic, partition }) => `${topic}/${partition}@`)
    const ofCommands = this.#told.flatMap(({ index, ...told }) => (index === undefined ? [] : [{ ...told, index }]))
    const unsent = this.#waiting.filter(({ perhapsSent }) => !perhapsSent)
    return {
      waitingToldTwice: this.#waiting.length - new Set(this.#waiting.map(({ index }) => index)).size,
      waitingToldButAnswered: unsent.filter(({ index }) => hasFinal(index)).length,
      waitingToldUnsentButExecuted: unsent.filter(({ index }) => executionsOf(index) > 0).length,
      toldTwice: this.#told.length - this.#toldOf.size,
      // offsets of doubts may be markers of transactions
      toldButNotDeleted: this.#told.filter(told => told.ofCommands && told.index === undefined && !told.mayBeNone)
        .length,
      toldButAnswered: ofCommands.filter(told => told.ofCommands && !told.perhapsSent && hasFinal(told.index)).length,
      toldUnsentButExecuted: ofCommands.filter(told => !told.perhapsSent && executionsOf(told.index) > 0).length,
      toldInLogsOnly: [...logged].filter(place => !places.has(place)).length,
      toldInLettersOnly: [...places].filter(
        place => !logged.has(place) && !shortened.some(start => place.startsWith(start)),
      ).length,
    }
  }

  get figures(): Record<string, number> {
    const told = new Set(this.#told.flatMap(({ index }) => index ?? []))
    return {
      deleted: this.#deleted.size,
      toldLost: told.size,
      waitingLost: this.#waiting.length,
      doubtsLostWithTopic: this.doubtsLostWithTopic,
    }
  }

  /** All lines of an event in the logs of the processes. */
  #logged(event: string): Record<string, unknown>[] {
    return readdirSync(this.#folder)
      .filter(name => name.endsWith('.log'))
      .flatMap(name => readFileSync(join(this.#folder, name), 'utf8').split('\n'))
      .filter(line => line.includes(`"${event}"`))
      .map(line => JSON.parse(line) as Record<string, unknown>)
  }
}

/** Whether a line of log.cut has too many ranges to name all. */
const isShortened = ({ unsentOffsets, perhapsSentOffsets }: Record<string, unknown>) =>
  `${unsentOffsets}${perhapsSentOffsets}`.includes('…')

/** The places that a line of log.cut names, such as `0-11, 13`. */
function placesIn({ topic, partition, unsentOffsets, perhapsSentOffsets }: Record<string, unknown>): string[] {
  const texts = [unsentOffsets, perhapsSentOffsets].map(text => String(text).replace(/[\d-]*…$/, ''))
  const ranges = texts.flatMap(text => text.split(', ')).filter(Boolean)
  return ranges.flatMap(range => {
    const [first = 0, last = first] = range.split('-').map(Number)
    const place = (offset: number) => placeText({ topic: String(topic), partition: Number(partition), offset })
    return Array.from({ length: last - first + 1 }, (_, i) => place(first + i))
  })
}
