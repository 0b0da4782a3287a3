import type {
  BusRecord,
  LostRange,
  OutgoingRecord,
  RecordHeaders,
  RecordsOf,
  Session,
  TopicPartition,
} from '../bus/port.ts'
import type { Events, Telemetry } from '../telemetry/events.ts'
import type { DeadLetterCode } from '../telemetry/labels.ts'
import { copyAtHeader, longestError, type Origin } from './result.ts'
import { withShorter } from './shorten.ts'

/** Headers with the reason and the origin of a dead letter. */
export const errorHeaders = {
  stage: 'busgate.error.stage',
  code: 'busgate.error.code',
  message: 'busgate.error.message',
  topic: 'busgate.error.topic',
  partition: 'busgate.error.partition',
  offset: 'busgate.error.offset',
  lastOffset: 'busgate.error.last-offset',
  timestamp: 'busgate.error.timestamp',
  /** Set only if the dead letter's key is not the record's. */
  key: 'busgate.error.key',
  /** `true` if the record was perhaps sent; absent if it was not. */
  perhapsSent: 'busgate.error.perhaps-sent',
} as const

/** Longest key, in bytes, that a shortened dead letter keeps. */
const longestKey = 256

/**
 * Header of a mark, `partition@offset`: the dead letter at this place, on the mark's own partition, was replayed. Written in
 * one transaction with the replay; it stays as long as the letter, since it is younger.
 */
export const replayedLetterHeader = 'busgate.replayed.letter'

/** The mark of a replayed dead letter. */
export function replayMark({ topic, partition, offset }: TopicPartition & { offset: number }): OutgoingRecord {
  const place = `${partition}@${offset}`
  return { topic, partition, key: place, value: null, headers: { [replayedLetterHeader]: place } }
}

/** Prefix of busgate's headers. Producers can write them too. */
const ownPrefix = 'busgate.'

/** Header of a replayed record: the origin of the replay, `topic/partition@offset` of the dead letter. */
export const replayedFromHeader = 'busgate.replayed.from'
/** Header of a replayed record: the place of the original record, `topic/partition@offset`. */
export const replayedRecordHeader = 'busgate.replayed.record'

/** Why a record cannot be processed; contains nothing of its content. */
export interface DeadLetterReason {
  code: DeadLetterCode
  message: string
  /** Whether its command was perhaps sent. Default false. */
  perhapsSent?: boolean
}

/** The reason if busgate itself failed. */
export const internalError: DeadLetterReason = {
  code: 'INTERNAL_ERROR',
  message: 'busgate failed while it handled the record; its log (fault.contained) says where. Upgrade, then replay it.',
}

/** What failed: reading the record, or busgate itself. */
export const stageOf = ({ code }: DeadLetterReason): 'decode' | 'handle' =>
  code === internalError.code ? 'handle' : 'decode'

/**
 * The original record with headers that give the reason, and without headers that imitate busgate's. If it is too large for the
 * topic, it loses its value, its own headers and a long key; its coordinates say where to find it. An unreadable batch becomes
 * one dead letter without a value. A record without a key gets its coordinates as key: a compacted topic refuses records
 * without a key, and the partition would stop.
 */
export function deadLetter(
  topic: string,
  { record, copyAt, ...from }: Origin,
  reason: DeadLetterReason,
  lastOffset = record.unreadable?.lastOffset ?? record.offset,
): OutgoingRecord {
  const { key, value, offset, timestamp } = record
  const message = reason.message.slice(0, longestError)
  const letterOf = (own: Pick<BusRecord, 'key' | 'value' | 'headers'>, message: string): OutgoingRecord => ({
    topic,
    key: own.key ?? Buffer.from(`${from.topic}/${from.partition}@${offset}`),
    value: own.value,
    headers: {
      ...own.headers,
      [errorHeaders.stage]: stageOf(reason),
      [errorHeaders.code]: reason.code,
      [errorHeaders.message]: message,
      [errorHeaders.topic]: from.topic,
      [errorHeaders.partition]: String(from.partition),
      [errorHeaders.offset]: String(offset),
      ...(lastOffset > offset && { [errorHeaders.lastOffset]: String(lastOffset) }),
      [errorHeaders.timestamp]: String(timestamp),
      ...(own.key === null && { [errorHeaders.key]: 'none' }),
      ...(copyAt !== undefined && { [copyAtHeader]: String(copyAt) }),
      ...(reason.perhapsSent && { [errorHeaders.perhapsSent]: 'true' }),
    },
  })
  return withShorter(letterOf({ key, value, headers: originalHeaders(record) }, message), () => {
    const note = `too large to be copied: its value of ${value?.length ?? 0} bytes, and its headers`
    const shortKey = key !== null && key.length > longestKey ? null : key
    return letterOf({ key: shortKey, value: null, headers: {} }, `${message} (${note})`)
  })
}

const lostTexts: Record<Exclude<LostRange['kind'], 'skipped'>, string> = {
  unsent: 'the log lost these commands before they were sent',
  unread:
    'the log lost these offsets before they were read, and what commands they held was not sent; some may hold none',
  perhapsSent: 'the log lost these commands, which a worker that died had perhaps sent: nobody can tell',
  unchecked:
    'the log lost these offsets before it was known whether their commands, if they held any, had been answered',
}
const skipped =
  'somebody else than busgate set the committed offset behind these records: those without a result get none, unless the ' +
  'offset is reset again'
const lostDoubts =
  'the log lost these doubts: their commands were perhaps sent, and end UNRESOLVED if their IN_DOUBT result is still there'
const uncheckedDoubts =
  'the log lost these doubts before it was known which of them were resolved: the commands of the others were perhaps sent, ' +
  'and end UNRESOLVED if their IN_DOUBT result is still there'
const lostMessages =
  'the log lost these records of messages that were sent: their final status comes only by a callback; some may hold none'

/** Records about ranges of offsets that the log lost, one for each. Counts them once they are committed. */
export function lostLetters(
  deadLetterTopic: string,
  session: Session,
  ranges: readonly LostRange[],
  what: RecordsOf,
  telemetry: Telemetry,
): OutgoingRecord[] {
  const { topic, partition } = session
  const published = [...Map.groupBy(ranges, codeOf)].map(([code, group]) => {
    const first = { topic, partition, offset: group[0]!.first }
    return { stage: 'decode', code, count: group.length, first } as const
  })
  queueMicrotask(() => announceLetters(session, published, telemetry)) // the records are part of the next commit
  return ranges.map(range => lostLetter(deadLetterTopic, session, range, what))
}

/** Counts dead letters once the session has committed. */
export function announceLetters(
  session: Session,
  published: readonly Events['deadLetter.published'][],
  telemetry: Telemetry,
): void {
  const announce = () => {
    if (!session.alive) return // the next owner writes and counts them
    for (const one of published) telemetry.emit('deadLetter.published', one)
  }
  void session.committed().then(announce)
}

function textOf(kind: LostRange['kind'], what: RecordsOf): string {
  if (kind === 'skipped') return skipped
  const doubts = kind === 'unchecked' ? uncheckedDoubts : lostDoubts
  return { commands: lostTexts[kind], doubts, messages: lostMessages }[what]
}

const codeOf = ({ kind }: LostRange) => (kind === 'skipped' ? 'RECORDS_SKIPPED' : 'RECORDS_DELETED')

/** A dead letter about a range of offsets that the log lost. */
function lostLetter(topic: string, of: TopicPartition, range: LostRange, what: RecordsOf): OutgoingRecord {
  const { kind, first: offset, last: lastOffset } = range
  const isUnsent = kind === 'unsent' || kind === 'unread'
  const reason: DeadLetterReason = {
    code: codeOf(range),
    message: textOf(kind, what),
    perhapsSent: what === 'doubts' || (what === 'commands' && !isUnsent),
  }
  const record: BusRecord = { offset, timestamp: -1, key: null, value: null, headers: {} }
  return deadLetter(topic, { topic: of.topic, partition: of.partition, record }, reason, lastOffset)
}

/** The unchanged body of a callback; without the body if it is too large for the topic. */
export function callbackLetter(topic: string, body: Buffer, reason: DeadLetterReason): OutgoingRecord {
  const timestamp = String(Date.now())
  const letterOf = (value: Buffer | null, message: string): OutgoingRecord => ({
    topic,
    key: null,
    value,
    headers: {
      [errorHeaders.stage]: 'callback',
      [errorHeaders.code]: reason.code,
      [errorHeaders.message]: message,
      [errorHeaders.timestamp]: timestamp,
    },
  })
  return withShorter(letterOf(body, reason.message), () =>
    letterOf(null, `${reason.message} (too large to be kept: its body of ${body.length} bytes)`),
  )
}

/** Coordinates of the record that a dead letter is about; null if its headers do not give them. */
export function originOfLetter({
  headers,
}: BusRecord): (TopicPartition & { offset: number; timestamp: number }) | null {
  const { topic: topicHeader, partition, offset, timestamp } = errorHeaders
  const topic = headers[topicHeader]
  if (!topic) return null
  return {
    topic: String(topic),
    partition: Number(headers[partition]),
    offset: Number(headers[offset]),
    timestamp: Number(headers[timestamp]),
  }
}

/** The key of the original record. A dead letter always has a key. */
export function originalKey({ key, headers }: BusRecord): Buffer | null {
  return headers[errorHeaders.key] === undefined ? key : null
}

/** The record's headers without busgate's. */
export function originalHeaders({ headers }: BusRecord): RecordHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(ownPrefix)))
}
