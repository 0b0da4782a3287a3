import { isUtf8 } from 'node:buffer'
import type { Bus, BusRecord, TopicPartition } from '../../bus/port.ts'
import { scanTopic } from '../../bus/scan.ts'
import type { Settings } from '../../config/index.ts'
import { parseQuietly } from '../../protocol/json.ts'
import { errorHeaders, replayedLetterHeader } from '../../records/dead-letter.ts'
import { createDecoder, type Decoder, decodeAll } from '../../records/decoder.ts'
import { registryOf } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'

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
  /** Whether its command was perhaps sent. */
  perhapsSent: boolean
}

export interface FullLetter extends Letter {
  record: BusRecord
}

/** The letters among records of the topic, without the marks of replayed ones. */
export function lettersOf(tp: TopicPartition, records: readonly BusRecord[]): FullLetter[] {
  return records.filter(({ headers }) => !(replayedLetterHeader in headers)).map(record => letterOf(tp, record))
}

function letterOf({ topic, partition }: TopicPartition, record: BusRecord): FullLetter {
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
    perhapsSent: header(errorHeaders.perhapsSent) === 'true',
    record,
  }
}

export function jsonOf({ place, time, stage, code, message, origin, perhapsSent }: Letter) {
  return {
    at: shortPlace(place),
    time: new Date(time).toISOString(),
    stage,
    code,
    message,
    origin: origin && placeText(origin),
    perhapsSent,
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
  const decoders = new Map<object, Decoder<unknown>>()
  const decode = async ({ stage, origin, record }: FullLetter, value: Buffer): Promise<unknown> => {
    if (stage === 'callback') return parseQuietly(value.toString(), 'it is not JSON')
    const schema = origin?.topic === settings.topics.doubts ? schemas.doubt : schemas.command
    const decoder = decoders.get(schema) ?? createDecoder<unknown>(schema, registryOf(settings))
    decoders.set(schema, decoder)
    const [decoded] = await decodeAll(decoder, [record])
    if (decoded?.ok) return decoded.value
    throw new Error(decoded && 'error' in decoded ? decoded.error.message : 'its schema is not known')
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

/** A printable copy: bytes in base64, and *** for possibly personal data unless `reveal` is set. */
export function shown(value: unknown, reveal: boolean, name = ''): unknown {
  if (Array.isArray(value)) return value.map(item => shown(item, reveal, name))
  if (value !== null && typeof value === 'object' && !Buffer.isBuffer(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, shown(child, reveal, key)]))
  }
  if (value !== null && !reveal && !harmless.has(name)) return hidden
  return Buffer.isBuffer(value) ? value.toString('base64') : value
}

/** The raw bytes of a value that cannot be decoded. */
export function rawOf(value: Buffer | null): { text: string } | { base64: string } | null {
  if (value === null) return null
  return isUtf8(value) ? { text: value.toString() } : { base64: value.toString('base64') }
}
