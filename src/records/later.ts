import type { BusRecord, OutgoingRecord, Place, RecordHeaders, TopicPartition } from '../bus/port.ts'
import { idIn } from '../protocol/ids.ts'
import { wellFormedJson } from './fields.ts'
import { copyAtHeader, type Origin } from './result.ts'
import { withShorter } from './shorten.ts'

/*
 * Commands that wait on the table `topics.later`, a compacted topic. The key names the command: its record's place, and its id.
 * The header `busgate.later` tells what waits, so that nobody needs a schema to know. A key's last record is its state:
 *
 * waits      the value is the command's bytes, its own headers are there too
 * released   the value is empty: a copy of the record is on the command's partition, not finished yet
 * tombstone  finished
 */

/** On the table and on a released copy: the state and `LaterFacts`, as a JSON array in the order of `LaterFacts`. */
export const laterHeader = 'busgate.later'
/** On the table: the key of the command's record; missing if it has none. */
const recordKeyHeader = 'busgate.later.record-key'
/** On a released copy: the key of its command on the table. */
export const copyOfHeader = 'busgate.later.of'

/** A command that waits: the place of its record, and its id. */
export interface LaterKey extends Place {
  id: bigint
}

/** `omitted`: it was too large for the table, or its copy for its own topic, so that it cannot be sent. */
export const laterStates = ['waits', 'omitted', 'released'] as const
export type LaterState = (typeof laterStates)[number]

/** What is known of a waiting command without its bytes. Times are milliseconds since 1970. */
export interface LaterFacts {
  account: string
  type: string
  correlationId: string | null
  tenant: string | null
  campaign: string | null
  country: string | null
  /** Not before this time; null if it waits for the end of a pause alone. */
  notBefore: number | null
  /** When the command's record was appended, as far as known. */
  since: number
  /** Timestamp of the command's record. */
  timestamp: number
  /** When it expires, by the settings of the worker that wrote it. */
  expiresAt: number
  /** Offset of the copy that waits again, because it was paused; null if none does. */
  copyAt: number | null
  /**
   * Names the copy, on it and in the mark that it is released, written in one transaction: no older record can have it. Only if
   * released.
   */
  copy?: string
}

/** A record of the table. */
export type LaterEntry =
  | { key: LaterKey; state: LaterState; facts: LaterFacts }
  /** Finished. */
  | { key: LaterKey; state: 'over'; facts: null }

/** Longest text of a command that its facts keep, in bytes of JSON: no pause and no withdrawal can name a longer one. */
const longestName = 8 * 1024
const longestCopyName = 64
/** No log has more records, and six bytes hold it. */
const largestOffset = 2 ** 48 - 1
/** Longest header that is read. */
const longestFacts = 64 * 1024

/** `topic/partition@offset#id` */
export const keyText = ({ topic, partition, offset, id }: LaterKey): string => `${topic}/${partition}@${offset}#${id}`

/** Parses a key of the table; null if busgate did not write it. */
export function keyIn(bytes: Buffer | string | null | undefined): LaterKey | null {
  if (!bytes) return null
  const found = /^([a-zA-Z0-9._-]{1,249})\/(\d{1,10})@(\d{1,16})#(\d{1,19})$/.exec(bytes.toString())
  if (!found) return null
  const [, topic = '', partition, offset, idText = ''] = found
  const id = idIn(idText)
  if (id === null || Number(offset) > largestOffset) return null
  return { topic, partition: Number(partition), offset: Number(offset), id }
}

/** Reads a record of the table; null if busgate did not write it. */
export function readLater({ key: bytes, value, headers, unreadable }: BusRecord): LaterEntry | null {
  const key = unreadable ? null : keyIn(bytes)
  if (!key) return null
  if (value === null) return { key, state: 'over', facts: null }
  const read = factsIn(headers)
  return read && { key, ...read }
}

/** The facts in the header; null if there are none, or none that busgate wrote. */
function factsIn({ [laterHeader]: header }: RecordHeaders): { state: LaterState; facts: LaterFacts } | null {
  if (header === undefined || Array.isArray(header) || header.length > longestFacts) return null
  const read = parsed(header)
  if (!Array.isArray(read)) return null
  const account: unknown = read[1]
  const type: unknown = read[2]
  const correlationId: unknown = read[3]
  const tenant: unknown = read[4]
  const campaign: unknown = read[5]
  const country: unknown = read[6]
  const notBefore: unknown = read[7]
  const since: unknown = read[8]
  const timestamp: unknown = read[9]
  const expiresAt: unknown = read[10]
  const copyAt: unknown = read[11]
  const copy: unknown = read[12]
  if (!laterStates.includes(read[0])) return null
  if (!isText(account) || !isText(type)) return null
  if (!isName(correlationId) || !isName(tenant) || !isName(campaign) || !isName(country)) return null
  if (!isTime(since) || !isTime(timestamp) || !isTime(expiresAt)) return null
  if (!isTimeOrNone(notBefore) || !isTimeOrNone(copyAt)) return null
  if (copy !== undefined && (!isText(copy) || copy.length > longestCopyName)) return null
  const facts: LaterFacts = {
    account,
    type,
    correlationId,
    tenant,
    campaign,
    country,
    notBefore,
    since,
    timestamp,
    expiresAt,
    copyAt,
  }
  if (copy) facts.copy = copy
  return { state: read[0], facts }
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isName = (value: unknown): value is string | null => value === null || isText(value)

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= -1

const isTimeOrNone = (value: unknown): value is number | null => value === null || isTime(value)

function parsed(json: Buffer | string): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

/** The facts without texts that are longer than some bytes of JSON. A command may have any, and its facts must fit the table. */
export function boundedFacts(facts: LaterFacts, most = longestName): LaterFacts {
  const bounded = (text: string | null) =>
    text !== null && Buffer.byteLength(JSON.stringify(text)) > most ? null : text
  const { correlationId, tenant, campaign } = facts
  return { ...facts, correlationId: bounded(correlationId), tenant: bounded(tenant), campaign: bounded(campaign) }
}

/** Facts that fit every topic. */
const shortFacts = (facts: LaterFacts) => boundedFacts(facts, 256)

/** Lets a command wait. If it is too large for the table, only its facts wait. */
export function waitingRecord(table: TopicPartition, key: LaterKey, facts: LaterFacts, { record }: Origin) {
  const { value, headers } = record
  const recordKey = record.key
  const recordOf = (value: Buffer | null, headers: RecordHeaders): OutgoingRecord => ({
    ...{ ...table, key: keyText(key), value: value ?? noBytes, headers },
  })
  const own = { ...commandHeaders(headers), ...(recordKey && { [recordKeyHeader]: recordKey }) }
  return withShorter(recordOf(value, { ...own, [laterHeader]: laterHeaderOf('waits', facts) }), () =>
    recordOf(null, { [laterHeader]: laterHeaderOf('omitted', shortFacts(facts)) }),
  )
}

/** The mark that a copy of the command is on its partition. It becomes readable together with the copy. */
export function releasedRecord(table: TopicPartition, key: LaterKey, facts: LaterFacts): OutgoingRecord {
  const recordOf = (facts: LaterFacts): OutgoingRecord => ({
    ...{ ...table, key: keyText(key), value: noBytes },
    headers: { [laterHeader]: laterHeaderOf('released', facts) },
  })
  return withShorter(recordOf(facts), () => recordOf(shortFacts(facts)))
}

/** The end of a command on the table. */
export const tombstone = (table: TopicPartition, key: LaterKey): OutgoingRecord => ({
  ...table,
  key: keyText(key),
  value: null,
})

/** The copy of a command that is due, for the command's own partition. @param waiting its record on the table */
export function copyOf(key: LaterKey, facts: LaterFacts, waiting: BusRecord): OutgoingRecord {
  const { topic, partition } = key
  const own = (facts: LaterFacts, state: LaterState = 'released') => ({
    ...{ [laterHeader]: laterHeaderOf(state, facts), [copyOfHeader]: keyText(key) },
  })
  const recordOf = (value: Buffer | null, headers: RecordHeaders): OutgoingRecord => ({
    ...{ topic, partition, value, headers },
    key: recordKeyIn(waiting.headers),
  })
  return withShorter(recordOf(waiting.value, { ...commandHeaders(waiting.headers), ...own(facts) }), () => ({
    ...recordOf(noBytes, own(shortFacts(facts), 'omitted')),
    key: null,
  }))
}

export interface CopiedFrom {
  key: LaterKey
  facts: LaterFacts
  /** Whether the copy lacks the command. */
  isOmitted: boolean
}

/** The command that a record says to be a copy of. Only the table knows whether that is so: anybody can write the header. */
export function copiedFrom({ headers }: BusRecord): CopiedFrom | null {
  const of = headers[copyOfHeader]
  if (of === undefined || Array.isArray(of)) return null
  const key = keyIn(of)
  const read = key && factsIn(headers)
  return read && { key, facts: read.facts, isOmitted: read.state === 'omitted' }
}

/** The record that a copy was made of, at its place and with its timestamp. */
export const originalOf = ({ offset }: LaterKey, { timestamp }: LaterFacts, copy: BusRecord): BusRecord => ({
  offset,
  timestamp,
  get key() {
    return copy.key
  },
  get value() {
    return copy.value
  },
  headers: commandHeaders(copy.headers),
  ...(copy.contentBytes !== undefined && { contentBytes: copy.contentBytes }),
})

/** The offset of the copy that a result or dead letter is about; null if it is about a record as it was written. */
export function copyAtIn({ [copyAtHeader]: at }: RecordHeaders): number | null {
  const text = at === undefined || Array.isArray(at) ? '' : at.toString()
  return /^\d{1,16}$/.test(text) ? Number(text) : null
}

const noBytes = Buffer.alloc(0)

/** The header's text. It is short and without names, since a million of them are read at a take-over. */
export function laterHeaderOf(state: LaterState, facts: LaterFacts): string {
  const { account, type, correlationId, tenant, campaign, country } = facts
  const { notBefore, since, timestamp, expiresAt, copyAt, copy } = facts
  const times = [notBefore, since, timestamp, expiresAt, copyAt]
  const all = [state, account, type, correlationId, tenant, campaign, country, ...times]
  return wellFormedJson(JSON.stringify(copy === undefined ? all : [...all, copy]))
}

/** The headers of a command's record without those of waiting. */
const commandHeaders = (headers: RecordHeaders): RecordHeaders =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== laterHeader && !name.startsWith(`${laterHeader}.`)),
  )

function recordKeyIn({ [recordKeyHeader]: key }: RecordHeaders): Buffer | null {
  if (key === undefined || Array.isArray(key)) return null
  return Buffer.from(key)
}
