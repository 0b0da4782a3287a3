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

/** Bounds of a report. A writer leaves out what is more; a reader does the same, and refuses longer records. */
const mostAccounts = 200
const mostStuck = 100
const mostReasons = 10
const mostRoles = 10
const longestText = 500
const longestError = 100
const longestName = 249
export const longestKeyBytes = 512
export const longestValueBytes = 512 * 1024

const text = z.string().transform(given => cut(given, longestText))
const name = z.string().transform(given => cut(given, longestName))
const number = z.number()
const listOf = <T extends z.ZodType>(one: T, most: number) =>
  z
    .array(z.unknown())
    .transform(all => all.slice(0, most))
    .pipe(z.array(one))
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
  roles: listOf(name, mostRoles),
  startedAt: number,
  reasons: listOf(text, mostReasons).default([]),
  accounts: number.default(0),
  held: listOf(heldAccount, mostAccounts).default([]),
  polls: listOf(heldAccount, mostAccounts).default([]),
  learnt: z.record(z.string(), number).default({}),
  stuck: listOf(
    z.union([
      z.object({ ...place, why: z.literal('schema'), schemaId: number, since: number }),
      z.object({ ...place, why: z.literal('transaction'), text }),
    ]),
    mostStuck,
  ).default([]),
  owned: z.record(z.string(), z.record(z.string(), number.nullable())).default({}),
})

/** Encodes a report in JSON instead of Avro: it must be readable while the schema registry is down. */
export function writeReport(topic: string, process: string, report: Report): OutgoingRecord {
  const { reasons, held, polls, learnt, stuck, ...rest } = report
  const short = (text: string) => cut(text, longestText)
  const value = {
    ...rest,
    reasons: reasons.slice(0, mostReasons).map(short),
    held: listed(held),
    polls: listed(polls),
    learnt: Object.fromEntries(Array.from(Object.entries(learnt).slice(0, mostAccounts), shortName)),
    stuck: stuck.slice(0, mostStuck).map(one => ({
      ...one,
      topic: cut(one.topic, longestName),
      ...(one.why === 'transaction' && { text: short(one.text) }),
    })),
  }
  return { topic, key: Buffer.from(process), value: Buffer.from(JSON.stringify(value)) }
}

/** The tombstone of a process that has stopped. */
export const goneRecord = (topic: string, process: string): OutgoingRecord => ({
  topic,
  key: Buffer.from(process),
  value: null,
})

const shortName = ([account, rate]: [string, number]) => [cut(account, longestName), rate] as const

/** The accounts with the most waiting commands, without nulls. */
function listed(accounts: readonly HeldAccount[]): object[] {
  const most = accounts.toSorted((a, b) => b.waiting - a.waiting).slice(0, mostAccounts)
  return most.map(({ account, reason, since, waiting, probeAt, error }) => ({
    ...{ account: cut(account, longestName), reason, since, waiting },
    ...(probeAt !== null && { probeAt: Math.round(probeAt) }),
    ...(error !== null && { error: cut(error, longestError) }),
  }))
}

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
