import type { BusRecord, OutgoingRecord, RecordHeaders, TopicPartition } from '../bus/port.ts'
import { addHeader, headerPairs, newHeaders } from '../bus/record-headers.ts'
import { isObject } from '../protocol/json.ts'
import { traceHeaders, traceOf } from '../telemetry/trace.ts'
import type { DoubtCause } from '../vocabulary/lists.ts'
import type { Command } from './command.ts'
import { longestOther } from './decoder.ts'
import type { Doubt, DoubtHeader } from './generated.ts'
import type { Origin } from './result.ts'
import { isLong, withShorter } from './shorten.ts'

/** A command whose POST may have been executed, with the history of its earlier POSTs. */
interface DoubtSubject extends Origin {
  command: Pick<Command, 'id' | 'account' | 'type' | 'correlationId' | 'tenant' | 'campaign'>
  attempts: number
  doubted: boolean
  postedSince?: number
}

/** A version that fits any topic. Without its command, it cannot be sent again. */
const shorterDoubt = (doubt: Doubt): Doubt => ({
  ...doubt,
  key: null,
  value: noBytes,
  omitted: `a command of ${doubt.value.length} bytes is too large for the topic of doubts`,
  headers: toList(ownHeaders(doubt)),
  correlationId: isLong(doubt.correlationId) ? null : doubt.correlationId,
  tenant: isLong(doubt.tenant) ? null : doubt.tenant,
  campaign: isLong(doubt.campaign) ? null : doubt.campaign,
})

export type DoubtWriter = ReturnType<typeof createDoubtWriter>

/**
 * Writes doubts as records of the doubts topic, keyed by command id: the unchanged command record with the history of its POSTs.
 */
export function createDoubtWriter(topicOfDoubts: string, encode: (doubt: Doubt) => Buffer) {
  return (subject: DoubtSubject, postedAt: number, cause: DoubtCause): OutgoingRecord => {
    const { command, topic, partition, record, attempts, doubted, postedSince } = subject
    const { offset, timestamp, key, value, headers } = record
    const { account, type, correlationId, tenant, campaign } = command
    const recordOf = (doubt: Doubt) => {
      return { topic: topicOfDoubts, key: String(command.id), value: encode(doubt), headers: factsHeaders(doubt) }
    }
    const doubt = {
      topic,
      partition,
      offset,
      timestamp,
      key,
      value: value ?? noBytes,
      headers: toList(headers),
      account,
      attempts: attempts + 1,
      postedAt,
      postedSince: postedSince ?? (doubted || isOfOthers(cause) ? null : postedAt),
      cause,
      type,
      correlationId,
      tenant,
      campaign,
      omitted: null,
    }
    const whole = recordOf(doubt)
    const shorter = () => recordOf(shorterDoubt(doubt))
    return whole.value.length > longestOther ? shorter() : withShorter(whole, shorter)
  }
}

/** On a doubt: what is needed to resolve it if its schema is missing, as JSON. */
const factsHeader = 'busgate.doubt'

type Facts = Omit<Doubt, 'key' | 'value' | 'headers' | 'omitted'>

const shortOf = (text: string | null) => (isLong(text) ? null : text)

function factsHeaders({ key: _, value: _value, headers: _headers, omitted: _omitted, ...facts }: Doubt): RecordHeaders {
  const { correlationId, tenant, campaign } = facts
  const short = { correlationId: shortOf(correlationId), tenant: shortOf(tenant), campaign: shortOf(campaign) }
  return { [factsHeader]: JSON.stringify({ ...facts, ...short } satisfies Facts) }
}

/** A doubt without its command, by the header of its record; null if that does not tell it. @param omitted why */
export function doubtWithoutCommand({ headers }: Pick<BusRecord, 'headers'>, omitted: string): Doubt | null {
  const facts = factsIn(String(headers[factsHeader] ?? ''))
  const { topic, account, type, cause, postedSince = null, correlationId, tenant, campaign } = facts
  const { partition, offset, timestamp, attempts, postedAt } = facts
  const numbers = [partition, offset, timestamp, attempts, postedAt, postedSince ?? 0]
  const isWhole = [topic, account, type, cause].every(isText) && numbers.every(Number.isSafeInteger)
  if (!isWhole) return null
  const marks = { correlationId: textOf(correlationId), tenant: textOf(tenant), campaign: textOf(campaign) }
  return { ...(facts as Facts), ...marks, postedSince, key: null, value: noBytes, headers: [], omitted }
}

/** Anybody may write a doubt. */
function factsIn(text: string): Partial<Facts> {
  try {
    const facts: unknown = JSON.parse(text)
    return isObject(facts) ? facts : {}
  } catch {
    return {}
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const textOf = (value: unknown) => (isText(value) ? value : null)

/** On the record that marks a doubt as finished: the doubt's offset, as decimal text. */
const finishedHeader = 'busgate.finished'

/**
 * Marks a doubt as finished, in the transaction that finishes it. On the doubt's own partition, so that the mark lasts as long
 * as the doubt, whatever was deleted of the results. Without a key: who searches for an id does not find it.
 */
export const finishedMark = ({ topic, partition }: TopicPartition, offset: number): OutgoingRecord => ({
  ...{ topic, partition, key: null, value: null },
  headers: { [finishedHeader]: String(offset) },
})

/** The offset of the doubt that the record marks as finished; null if it marks none. */
export function finishedBy({ value, headers }: Pick<BusRecord, 'value' | 'headers'>): number | null {
  const offset = value === null ? headers[finishedHeader] : undefined
  return offset === undefined ? null : Number(offset)
}

/** Whether another process began the POST, if one began at all. */
export const isOfOthers = (cause: string) => cause === 'taken_over' || cause === 'progress_reset'

const noBytes = Buffer.alloc(0)

/** Keeps only the headers that busgate reads. */
function ownHeaders({ headers }: Doubt): RecordHeaders {
  const trace = traceOf(fromList(headers))
  return trace ? { ...traceHeaders(trace) } : {}
}

/** The record on the command topic that the doubt is about. */
export function originOf({ topic, partition, offset, timestamp, key, value, headers }: Doubt): Origin {
  return { topic, partition, record: { offset, timestamp, key, value, headers: fromList(headers) } }
}

function toList(headers: RecordHeaders): DoubtHeader[] {
  return Array.from(headerPairs(headers), ([name, value]) => ({ name, value: Buffer.from(value) }))
}

function fromList(list: readonly DoubtHeader[]): RecordHeaders {
  const headers = newHeaders()
  for (const { name, value } of list) addHeader(headers, name, value)
  return headers
}
