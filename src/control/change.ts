import { z } from 'zod'
import { type BusRecord, BusUnavailable, type OutgoingRecord, type TopicLook } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { type PauseKind, pausableKinds, type WithdrawalKind, withdrawalKinds } from '../vocabulary/control.ts'
import { count, timeText } from '../words.ts'

/** A pause suspends the commands of its scope; a withdrawal cancels those that were not sent. */
export type Scope = { effect: 'paused'; kind: PauseKind; name: string } | Withdrawn

/** For a message, the name is account and id: `default/42`. */
export interface Withdrawn {
  effect: 'withdrawn'
  kind: WithdrawalKind
  name: string
}

interface Stamp {
  /** Whether the effect begins; false if it was ended. */
  begins: boolean
  /** Who did it, in their own words. */
  by: string
  /** Milliseconds since 1970. */
  at: number
  /** When it ends by itself, milliseconds since 1970. A withdrawal applies to commands appended until then. */
  until: number | null
  reason: string | null
}

/** How long a command may wait for its time, and be unsent after it. */
export type CommandLife = Pick<Settings['commands'], 'maxAgeMs' | 'horizonMs'>

/** The begin or end of a pause or withdrawal. */
export type Change = Scope & Stamp
export type Withdrawal = Withdrawn & Stamp

/** Writers refuse longer names and texts. Readers skip longer names, and cut texts: every worker keeps them in memory. */
export const longestNameBytes = 1024
export const longestText = 500
/** The default of a broker's message.max.bytes. JSON takes up to 20 times its size to parse. */
const longestValueBytes = 1_048_588

const instant = z.iso.datetime({ offset: true }).transform(text => Date.parse(text))
const text = z.string().transform(cutText)
const stamp = { by: text, at: instant, until: instant.nullish(), reason: text.nullish() }
const bodies = {
  paused: z.object({ paused: z.boolean(), ...stamp }).transform(({ paused: begins, ...rest }) => ({ begins, ...rest })),
  withdrawn: z
    .object({ withdrawn: z.boolean(), ...stamp })
    .transform(({ withdrawn: begins, ...rest }) => ({ begins, ...rest })),
}

/** The copy does not hold the memory of the long text, as a slice would. */
export function cutText(text: string): string {
  return text.length <= longestText ? text : Buffer.from(`${text.slice(0, longestText - 1)}…`).toString()
}

const withdrawalPrefix = 'withdrawn/'

/** The record key of a scope; compaction keeps the last change of each. */
export function keyOf({ effect, kind, name }: Scope): string {
  return `${effect === 'withdrawn' ? withdrawalPrefix : ''}${kind}/${name}`
}

/**
 * Encodes a change for the control topic, in JSON instead of Avro: operators must be able to pause an account while the
 * schema registry is down.
 * @throws Error when a text is too long
 */
export function writeChange(topic: string, change: Change): OutgoingRecord {
  const { effect, begins, name, by, at, until, reason } = change
  const bytes = Buffer.byteLength(name)
  if (bytes > longestNameBytes)
    throw new Error(`a name of ${bytes} bytes cannot be ${effect}: ${longestNameBytes} at most`)
  if (by.length > longestText || (reason ?? '').length > longestText)
    throw new Error(`the reason, and the name of who gives it, may have at most ${longestText} characters each`)
  const value = { [effect]: begins, by, at: textOf(at), until: until === null ? null : textOf(until), reason }
  return { topic, key: Buffer.from(keyOf(change)), value: Buffer.from(JSON.stringify(value)) }
}

/** The tombstone of a scope. */
export const deletionOf = (topic: string, scope: Scope): OutgoingRecord => ({
  topic,
  key: Buffer.from(keyOf(scope)),
  value: null,
})

const nobody = 'a deleted record'

/** Whether the change is a tombstone. */
export const isDeletion = ({ begins, by }: Change): boolean => !begins && by === nobody

/** Longest key: the longest name behind the longest prefix. */
const longestKeyBytes = longestNameBytes + `${withdrawalPrefix}correlation_id/`.length

/**
 * Reads a change; it takes at most `longestNameBytes` and two texts of `longestText` characters in memory.
 * @throws Error when the record is not a change; the message contains nothing of it
 */
export function readChange({ key, value, timestamp }: BusRecord): Change {
  if (key && key.length > longestKeyBytes) throw new Error(`its key has ${key.length} bytes, more than a name may have`)
  const scope = scopeOf(key?.toString() ?? '')
  if (value === null) return { ...scope, begins: false, by: nobody, at: timestamp, until: null, reason: null }
  if (value.length > longestValueBytes) throw new Error(`its value has more than ${longestValueBytes} bytes`)
  const { data } = bodies[scope.effect].safeParse(parsed(value))
  if (!data) throw new Error(`its value is not JSON of {${scope.effect}, by, at, until, reason}`)
  return { ...scope, ...data, until: data.until ?? null, reason: data.reason ?? null }
}

function scopeOf(key: string): Scope {
  const isWithdrawal = key.startsWith(withdrawalPrefix)
  const [, kind, name] = /^([^/]+)\/(.+)$/s.exec(isWithdrawal ? key.slice(withdrawalPrefix.length) : key) ?? []
  const paused = pausableKinds.find(one => one === kind)
  const withdrawn = withdrawalKinds.find(one => one === kind)
  if (name && isWithdrawal && withdrawn) return { effect: 'withdrawn', kind: withdrawn, name }
  if (name && !isWithdrawal && paused) return { effect: 'paused', kind: paused, name }
  const known = [...pausableKinds, ...withdrawalKinds.map(one => `${withdrawalPrefix}${one}`)]
  throw new Error(`its key is not one of ${known.map(one => `${one}/NAME`).join(', ')}`)
}

/** The changes in these records. Skips invalid records, and returns the first of them with its error. */
export function changesIn(records: readonly BusRecord[]) {
  const changes: Change[] = []
  let invalid: { offset: number; count: number; error: Error } | null = null
  for (const record of records) {
    try {
      if (record.unreadable) throw new Error(record.unreadable.message)
      changes.push(readChange(record))
    } catch (error) {
      invalid ??= { offset: record.offset, count: 0, error: error as Error }
      invalid.count++
    }
  }
  return { changes, invalid }
}

function parsed(value: Buffer): unknown {
  try {
    return JSON.parse(value.toString())
  } catch {
    return undefined
  }
}

/**
 * When it ends by itself, milliseconds since 1970; a whole second, so that thousands end together. A command that was appended
 * before a withdrawal ended stays withdrawn for its whole life: until its time, and its age from then on.
 */
export function endOf({ effect, until }: Change, { maxAgeMs, horizonMs }: CommandLife): number {
  if (until === null) return Number.POSITIVE_INFINITY
  return Math.ceil((until + (effect === 'withdrawn' ? horizonMs + maxAgeMs : 0)) / 1000) * 1000
}

/** Whether it ends its scope, or has ended by itself. */
export const isOver = (change: Change, life: CommandLife, now: number): boolean =>
  !change.begins || endOf(change, life) <= now

/** Says in one line what is paused or withdrawn, by whom, until when, and why. */
export const changeText = (change: Change): string => `${nameOf(change)} is ${change.effect} ${whyOf(change)}`

/** The scope in words. */
export function nameOf({ kind, name }: Scope): string {
  if (kind === 'quiet_hours') return `account ${name}, but for its most urgent topic,`
  if (kind === 'correlation_id') return `correlationId ${name}`
  if (kind !== 'message') return `${kind} ${name}`
  const [account, id] = name.split('/')
  return `message ${id} of account ${account}`
}

/** Explains in a result why the command was not sent. */
export function withdrawalText({ kind, by, reason }: Withdrawal): string {
  const subject = kind === 'message' ? 'it' : `its ${kind === 'correlation_id' ? 'correlationId' : kind}`
  return `${subject} was withdrawn by ${by}${reason === null ? '' : `: ${reason}`}`
}

/** Says who paused or withdrew it, since and until when, and why. */
export function whyOf({ effect, by, at, until, reason }: Change): string {
  const end = until === null ? 'until it is resumed' : `until ${timeText(until)}`
  const ends = effect === 'withdrawn' ? `for commands ${end}` : end
  return `by ${by} ${timeText(at, 'since')} ${ends}${reason === null ? '' : `: ${reason}`}`
}

const textOf = (ms: number) => new Date(ms).toISOString()

/**
 * @throws BusUnavailable when a partition of the control topic has no leader
 * @throws Error when the topic does not exist
 */
export function requireReadable(topic: string, look: TopicLook | null): asserts look {
  if (look === null) throw new Error(`there is no topic ${topic}: create it with busgate topics create`)
  const { leaderless } = look
  if (leaderless.length === 0) return
  const partitions = `${count(leaderless.length, 'partition')} of ${topic} (${leaderless.join(', ')})`
  throw new BusUnavailable(`${partitions} without a leader: pauses and withdrawals are unknown until they have one`)
}
