import { isUtf8 } from 'node:buffer'
import type { Bus, BusRecord, TopicPartition } from '../../bus/port.ts'
import { scanTopic } from '../../bus/scan.ts'
import type { Settings } from '../../config/index.ts'
import { parseQuietly } from '../../protocol/json.ts'
import { type DeadLetterReason, errorHeaders, replayedLetterHeader } from '../../records/dead-letter.ts'
import type { Doubt, SendCommand } from '../../records/generated.ts'
import { registryOf } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'
import { cut, timeText } from '../../words.ts'
import { RecordReader } from '../decoding.ts'

export interface RecordPosition extends TopicPartition {
  offset: number
}

/** A dead letter by its headers, or the stand-in for an unreadable batch of dead letters. */
export interface Letter {
  place: RecordPosition
  /** When it was written, milliseconds since 1970. */
  time: number
  stage: string
  code: string
  message: string
  /** Where the record came from; null: from a callback. */
  origin: RecordPosition | null
  /** The last offset, if it is about a range of records. */
  lastOffset: number | null
  /** Whether its command was perhaps sent. */
  perhapsSent: boolean
}

export interface FullLetter extends Letter {
  record: BusRecord
}

/** When a record with this code becomes readable; with any other, its bytes never do. */
export const readableOnce: Readonly<Record<string, string>> = {
  SCHEMA_NOT_FOUND: 'Once its schema is registered',
  SCHEMA_INCOMPATIBLE: 'If a newer busgate can read its schema',
  KEY_NOT_FOUND: 'Once sealing.keysFile has its key',
} satisfies Partial<Record<DeadLetterReason['code'], string>>

/** The letters among records of the topic, without the marks of replayed ones. */
export function lettersOf(tp: TopicPartition, records: readonly BusRecord[]): FullLetter[] {
  return records.filter(({ headers }) => !(replayedLetterHeader in headers)).map(record => letterOf(tp, record))
}

/** Longest text of a header that says what is wrong, in characters: anybody may write a dead letter. */
const longestHeader = 1000

function letterOf({ topic, partition }: TopicPartition, record: BusRecord): FullLetter {
  const header = (name: string) => headerText(record.headers[name], longestHeader)
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
    lastOffset: header(errorHeaders.lastOffset) === null ? null : numberOf(errorHeaders.lastOffset),
    perhapsSent: header(errorHeaders.perhapsSent) === 'true',
    record,
  }
}

export function jsonOf({ place, time, stage, code, message, origin, lastOffset, perhapsSent }: Letter) {
  return {
    at: shortPlace(place),
    time: timeText(time),
    stage,
    code,
    message,
    origin: origin && placeText(origin),
    lastOffset,
    perhapsSent,
  }
}

/** `topic/partition@offset` */
export function placeText({ topic, partition, offset }: RecordPosition): string {
  return `${topic}/${partition}@${offset}`
}

/** Where the record came from, or the range of records; null: from a callback. */
export function originText({ origin, lastOffset }: Pick<Letter, 'origin' | 'lastOffset'>): string | null {
  return origin && `${placeText(origin)}${lastOffset === null ? '' : `-${lastOffset}`}`
}

/** `partition@offset`, where the topic is known. */
export function shortPlace({ partition, offset }: RecordPosition): string {
  return `${partition}@${offset}`
}

/** @param most cuts a longer text to so many characters; default: never */
export function headerText(value: BusRecord['headers'][string], most = Number.POSITIVE_INFINITY): string | null {
  const [first] = Array.isArray(value) ? value : [value]
  return first === undefined ? null : cut(String(first), most)
}

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

type LetterSource = Pick<Bus, 'search' | 'partitions'>

/** Returns the newest matching letters, the newest last, and the number of all that match. */
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
    for (const { record: _record, ...letter } of lettersOf(from, records)) {
      // the bytes of a letter need not be kept
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
    found ??= lettersOf(from, records).find(letter => shortPlace(letter.place) === place)
  })
  if (!found) throw new Error(`there is no dead letter at ${place} of ${topic}: busgate dlq list shows them`)
  return found
}

/** Fields without personal data. All others are shown only on request. */
const harmless = new Set([
  ...['id', 'type', 'account', 'deadline', 'delivery', 'correlationId', 'tenant', 'campaign'],
  ...['msg_id', 'request_id', 'success', 'status', 'updated_at', 'duration'],
  ...['topic', 'partition', 'offset', 'timestamp', 'attempts', 'postedAt', 'postedSince'],
])
const hidden = '***'

/**
 * Returns a function that decodes dead letters anew, since a schema may have been registered. Its `error` says why it cannot;
 * null if it can.
 */
export function contentReader(settings: Settings) {
  const registry = registryOf(settings)
  const commands = new RecordReader<SendCommand>(schemas.command, registry)
  const doubts = new RecordReader<Doubt>(schemas.doubt, registry)
  const decode = async ({ stage, origin, record }: FullLetter, value: Buffer): Promise<unknown> => {
    if (stage === 'callback') return parseQuietly(value.toString(), 'it is not JSON')
    const decoded = await (origin?.topic === settings.topics.doubts ? doubts : commands).decode(record)
    if (decoded.ok) return decoded.value
    throw new Error(decoded.why)
  }
  return async (letter: FullLetter) => {
    const { value } = letter.record
    if (value === null) return { bytes: 0, decoded: null, error: 'it has no value' }
    const bytes = value.length
    try {
      return { bytes, decoded: await decode(letter, value), error: null }
    } catch (error) {
      return { bytes, decoded: null, error: (error as Error).message }
    }
  }
}

/** Deepest level that is shown: a body may have thousands. */
const mostLevels = 100

/** A printable copy: bytes in base64, and *** for possibly personal data unless `reveal` is set. */
export function shown(value: unknown, reveal: boolean, name = '', level = 0): unknown {
  if (level > mostLevels) return '…'
  if (Array.isArray(value)) return value.map(item => shown(item, reveal, name, level + 1))
  if (value !== null && typeof value === 'object' && !Buffer.isBuffer(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, shown(child, reveal, key, level + 1)]))
  }
  if (value !== null && !reveal && !harmless.has(name)) return hidden
  return Buffer.isBuffer(value) ? value.toString('base64') : value
}

/** The raw bytes of a value that cannot be decoded. */
export function rawOf(value: Buffer | null): { text: string } | { base64: string } | null {
  if (value === null) return null
  return isUtf8(value) ? { text: value.toString() } : { base64: value.toString('base64') }
}
