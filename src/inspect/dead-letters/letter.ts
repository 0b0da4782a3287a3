import type { Bus, BusRecord, TopicPartition } from '../../bus/port.ts'
import { scanTopic } from '../../bus/scan.ts'
import { errorHeaders } from '../../records/dead-letter.ts'

/** RecordPosition says where a record stands. */
export interface RecordPosition extends TopicPartition {
  offset: number
}

/** A dead letter, as its headers tell of it; or what stands for a batch of dead letters that cannot be read. */
export interface Letter {
  place: RecordPosition
  /** When it was written, milliseconds since 1970. */
  time: number
  stage: string
  code: string
  message: string
  /** Where the record came from; null: from a callback. */
  origin: RecordPosition | null
}

export interface FullLetter extends Letter {
  record: BusRecord
}

export function letterOf({ topic, partition }: TopicPartition, record: BusRecord): FullLetter {
  const header = (name: string) => headerText(record.headers[name])
  const from = header(errorHeaders.topic)
  const numberOf = (name: string) => Number(header(name))
  const { unreadable } = record
  return {
    place: { topic, partition, offset: record.offset },
    time: record.timestamp,
    stage: header(errorHeaders.stage) ?? '',
    code: unreadable?.code ?? header(errorHeaders.code) ?? '',
    message: unreadable?.message ?? header(errorHeaders.message) ?? '',
    origin: from
      ? { topic: from, partition: numberOf(errorHeaders.partition), offset: numberOf(errorHeaders.offset) }
      : null,
    record,
  }
}

/** A dead letter without its content. */
export function jsonOf({ place, time, stage, code, message, origin }: Letter) {
  return {
    at: shortPlace(place),
    time: new Date(time).toISOString(),
    stage,
    code,
    message,
    origin: origin && placeText(origin),
  }
}

/** `topic/partition@offset` */
export function placeText({ topic, partition, offset }: RecordPosition): string {
  return `${topic}/${partition}@${offset}`
}

/** `partition@offset`, where the topic is known. */
export function shortPlace({ partition, offset }: RecordPosition): string {
  return `${partition}@${offset}`
}

export function headerText(value: BusRecord['headers'][string]): string | null {
  const [first] = Array.isArray(value) ? value : [value]
  return first === undefined ? null : String(first)
}

/** LetterFilters say which dead letters are meant. */
export interface LetterFilters {
  stage?: string
  code?: string
  /** Where they came from. */
  topic?: string
  /** `partition@offset`, where they stand. */
  at?: string[]
}

export function matchesLetter(letter: Letter, filters: LetterFilters): boolean {
  const { stage, code, topic, at } = filters
  return (
    (stage === undefined || letter.stage === stage) &&
    (code === undefined || letter.code === code) &&
    (topic === undefined || letter.origin?.topic === topic) &&
    (at === undefined || at.includes(shortPlace(letter.place)))
  )
}

type LetterSource = Pick<Bus, 'follow' | 'partitions'>

/** The newest that match, the newest at the end, and how many match in all. */
export async function newestLetters(
  bus: LetterSource,
  topic: string,
  filters: LetterFilters,
  limit: number,
): Promise<{ newest: Letter[]; matching: number }> {
  let newest: Letter[] = []
  let matching = 0
  const prune = () => {
    newest = newest.sort((a, b) => a.time - b.time || a.place.offset - b.place.offset).slice(-limit)
  }
  await scanTopic(bus, topic, (from, records) => {
    for (const found of records) {
      const { record: _record, ...letter } = letterOf(from, found) // its bytes need not be kept
      if (!matchesLetter(letter, filters)) continue
      matching++
      newest.push(letter)
    }
    if (newest.length > 2 * limit) prune()
  })
  prune()
  return { newest, matching }
}

/** @param place `partition@offset` @throws Error when it is not there */
export async function findLetter(bus: LetterSource, topic: string, place: string): Promise<FullLetter> {
  let found: FullLetter | undefined
  await scanTopic(bus, topic, (from, records) => {
    found ??= records.map(record => letterOf(from, record)).find(letter => shortPlace(letter.place) === place)
  })
  if (!found) throw new Error(`there is no dead letter at ${place} of ${topic}: busgate dlq list shows them`)
  return found
}
