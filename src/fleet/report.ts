import { z } from 'zod'
import type { BusRecord, OutgoingRecord } from '../bus/port.ts'
import { type HeldAccount, type HoldReason, holdReasons, type StuckPartition } from '../vocabulary/holds.ts'
import { cut } from '../words.ts'

/** What a process tells about itself. Instants are milliseconds since 1970. */
export interface Report {
  /** kafka.groupId: reports of other groups are ignored. */
  group: string
  version: string
  roles: string[]
  startedAt: number
  /** Why the process does not work now; empty if it does. */
  reasons: string[]
  /** Number of accounts in its settings. */
  accounts: number
  held: HeldAccount[]
  /** Accounts whose status polls are held back. */
  polls: HeldAccount[]
  /** Operations a second that throttling has left it, by account. */
  learnt: Record<string, number>
  stuck: StuckPartition[]
  /** Records settled a second, by owned partition and topic; null if unknown. */
  owned: Record<string, Record<string, number | null>>
}

/** Bounds of a report. A writer leaves out what is more; a reader refuses longer records, and cuts texts. */
const mostListed = 500
const longestText = 500
const longestName = 249
export const longestKeyBytes = 512
export const longestValueBytes = 256 * 1024

const text = z.string().transform(given => cut(given, longestText))
const name = z.string().transform(given => cut(given, longestName))
const number = z.number()
const heldAccount = z.object({
  account: name,
  reason: z.enum(Object.keys(holdReasons) as [HoldReason, ...HoldReason[]]),
  since: number,
  probeAt: number.nullish().transform(at => at ?? null),
  waiting: number.nonnegative().default(0),
  error: text.nullish().transform(error => error ?? null),
})
const place = { topic: name, partition: number, offset: number }
const schema = z.object({
  group: z.string(),
  version: name,
  roles: z.array(name),
  startedAt: number,
  reasons: z.array(text).default([]),
  accounts: number.default(0),
  held: z.array(heldAccount).default([]),
  polls: z.array(heldAccount).default([]),
  learnt: z.record(z.string(), number).default({}),
  stuck: z
    .array(
      z.union([
        z.object({ ...place, why: z.literal('schema'), schemaId: number, since: number }),
        z.object({ ...place, why: z.literal('transaction'), text }),
      ]),
    )
    .default([]),
  owned: z.record(z.string(), z.record(z.string(), number.nullable())).default({}),
})

/** Encodes a report in JSON instead of Avro: it must be readable while the schema registry is down. */
export function writeReport(topic: string, process: string, report: Report): OutgoingRecord {
  const { reasons, held, polls, stuck, ...rest } = report
  const value = {
    ...rest,
    reasons: listed(reasons).map(reason => cut(reason, longestText)),
    held: listed(held).map(withoutNulls),
    polls: listed(polls).map(withoutNulls),
    stuck: listed(stuck).map(one => (one.why === 'transaction' ? { ...one, text: cut(one.text, longestText) } : one)),
  }
  return { topic, key: Buffer.from(process), value: Buffer.from(JSON.stringify(value)) }
}

/** The tombstone of a process that has stopped. */
export const goneRecord = (topic: string, process: string): OutgoingRecord => ({
  topic,
  key: Buffer.from(process),
  value: null,
})

const listed = <T>(list: readonly T[]): readonly T[] => list.slice(0, mostListed)

const withoutNulls = (one: object) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== null))

/** Reads a report; null if the bytes are none. */
export function readReport(value: Buffer): Report | null {
  try {
    return schema.safeParse(JSON.parse(value.toString())).data ?? null
  } catch {
    return null
  }
}

/** Whether a record is small enough to be a report. */
export const mayBeReport = ({ key, value, unreadable }: BusRecord): boolean =>
  !unreadable && key !== null && key.length <= longestKeyBytes && (value?.length ?? 0) <= longestValueBytes
