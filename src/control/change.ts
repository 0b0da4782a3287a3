import { z } from 'zod'
import { type BusRecord, BusUnavailable, type OutgoingRecord, type TopicLook } from '../bus/port.ts'
import { type PauseKind, pausableKinds, type WithdrawalKind, withdrawalKinds } from '../telemetry/labels.ts'
import { count } from '../words.ts'

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

/** The begin or end of a pause or withdrawal. */
export type Change = Scope & Stamp
export type Withdrawal = Withdrawn & Stamp

const instant = z.iso.datetime({ offset: true }).transform(text => Date.parse(text))
const stamp = { by: z.string(), at: instant, until: instant.nullish(), reason: z.string().nullish() }
const bodies = {
  paused: z.object({ paused: z.boolean(), ...stamp }).transform(({ paused: begins, ...rest }) => ({ begins, ...rest })),
  withdrawn: z
    .object({ withdrawn: z.boolean(), ...stamp })
    .transform(({ withdrawn: begins, ...rest }) => ({ begins, ...rest })),
}

const withdrawalPrefix = 'withdrawn/'

/** The record key of a scope; compaction keeps the last change of each. */
export function keyOf({ effect, kind, name }: Scope): string {
  return `${effect === 'withdrawn' ? withdrawalPrefix : ''}${kind}/${name}`
}

/**
 * Encodes a change for the control topic, in JSON instead of Avro: operators must be able to pause an account while the
 * schema registry is down.
 */
export function writeChange(topic: string, change: Change): OutgoingRecord {
  const { effect, begins, by, at, until, reason } = change
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

/** @throws Error when the record is not a change */
export function readChange({ key, value, timestamp }: BusRecord): Change {
  const scope = scopeOf(key?.toString() ?? '')
  if (value === null) return { ...scope, begins: false, by: nobody, at: timestamp, until: null, reason: null }
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

/** The changes in these records. Skips invalid records, as the workers do, which log them. */
export function changesIn(records: readonly BusRecord[]): Change[] {
  return records.flatMap(record => {
    try {
      return readChange(record)
    } catch {
      return []
    }
  })
}

function parsed(value: Buffer): unknown {
  try {
    return JSON.parse(value.toString())
  } catch {
    return undefined
  }
}

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
  const end = until === null ? 'until it is resumed' : `until ${textOf(until)}`
  const ends = effect === 'withdrawn' ? `for commands ${end}` : end
  return `by ${by} since ${textOf(at)} ${ends}${reason === null ? '' : `: ${reason}`}`
}

const textOf = (ms: number) => new Date(ms).toISOString()

/**
 * The last change of each scope. On one partition, which the control topic should have, record order decides; across several,
 * the time set by the writer.
 */
export class LastChanges {
  readonly #last = new Map<string, { change: Change; partition: number }>()

  add(change: Change, partition: number): void {
    const key = keyOf(change)
    const known = this.#last.get(key)
    if (!known || known.partition === partition || known.change.at <= change.at)
      this.#last.set(key, { change, partition })
  }

  has(change: Change): boolean {
    return this.#last.has(keyOf(change))
  }

  *[Symbol.iterator](): Generator<Change> {
    for (const { change } of this.#last.values()) yield change
  }
}

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
