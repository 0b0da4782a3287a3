import type { OutgoingRecord, RecordHeaders } from '../bus/port.ts'
import type { Doubt, DoubtHeader } from '../records/generated.ts'
import type { Origin, Pending } from './pending.ts'

export type WriteDoubt = (pending: Pending, postedAt: number, cause: string) => OutgoingRecord

/** Writes doubts as records of the doubts topic: the command's own record, untouched, and what is known of its POSTs. */
export function createDoubtWriter(topic: string, encode: (doubt: Doubt) => Buffer): WriteDoubt {
  return ({ command, origin, attempts }, postedAt, cause) => ({
    topic,
    key: Buffer.from(command.idText),
    value: encode({
      topic: origin.topic,
      partition: origin.partition,
      offset: origin.record.offset,
      timestamp: origin.record.timestamp,
      key: origin.record.key,
      value: origin.record.value ?? Buffer.alloc(0),
      headers: toList(origin.record.headers),
      account: command.account,
      attempts: attempts + 1,
      postedAt,
      cause,
    }),
  })
}

/** The record on the command topic that a doubt is about. */
export function originOf({ topic, partition, offset, timestamp, key, value, headers }: Doubt): Origin {
  return { topic, partition, record: { offset, timestamp, key, value, headers: fromList(headers) } }
}

function toList(headers: RecordHeaders): DoubtHeader[] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().map(value => ({ name, value: Buffer.from(value) })),
  )
}

function fromList(list: readonly DoubtHeader[]): RecordHeaders {
  const headers: Record<string, Buffer | Buffer[]> = {}
  for (const { name, value } of list) {
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat()
  }
  return headers
}
