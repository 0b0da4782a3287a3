import { z } from 'zod'
import { type BusRecord, BusUnavailable, type OutgoingRecord, type TopicLook } from '../bus/port.ts'
import { pauseKinds } from '../telemetry/labels.ts'
import { count } from '../words.ts'

/** A pause stops the commands of its scope: an account, a topic or a tenant. */
export interface Scope {
  kind: (typeof pauseKinds)[number]
  name: string
}

/** Somebody paused a scope, or let it go on. */
export interface Change extends Scope {
  paused: boolean
  /** Who did it, as they call themselves. */
  by: string
  /** Milliseconds since 1970. */
  at: number
  /** When the pause ends by itself, milliseconds since 1970. */
  until: number | null
  reason: string | null
}

const instant = z.iso.datetime({ offset: true }).transform(text => Date.parse(text))
const body = z.object({
  paused: z.boolean(),
  by: z.string(),
  at: instant,
  until: instant.nullish(),
  reason: z.string().nullish(),
})

/** The key of a scope's records: compaction keeps the last change of each. */
export const keyOf = ({ kind, name }: Scope): string => `${kind}/${name}`

/**
 * A change as a record of the control topic. Its value is JSON, which can be written and read where there is no schema
 * registry: who has to stop an account does so when other things have broken, too.
 */
export function writeChange(topic: string, change: Change): OutgoingRecord {
  const { paused, by, at, until, reason } = change
  const value = { paused, by, at: textOf(at), until: until === null ? null : textOf(until), reason }
  return { topic, key: Buffer.from(keyOf(change)), value: Buffer.from(JSON.stringify(value)) }
}

/** @throws Error when the record is none */
export function readChange({ key, value, timestamp }: BusRecord): Change {
  const [, kind, name] = /^([^/]+)\/(.+)$/s.exec(key?.toString() ?? '') ?? []
  const known = pauseKinds.find(one => one === kind)
  if (!known || !name) throw new Error(`its key is none of ${pauseKinds.map(one => `${one}/NAME`).join(', ')}`)
  const scope = { kind: known, name }
  if (value === null)
    return { ...scope, paused: false, by: 'a deleted record', at: timestamp, until: null, reason: null }
  const { data } = body.safeParse(parsed(value))
  if (!data) throw new Error('its value is no JSON of {paused, by, at, until, reason}')
  return { ...scope, ...data, until: data.until ?? null, reason: data.reason ?? null }
}

/** The changes that records tell of. What is none is passed over, as the workers do, who log it. */
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

/** Tells what is paused, by whom and until when, in one line. */
export const pauseText = (change: Change): string => `${change.kind} ${change.name} is paused ${pausedBy(change)}`

/** Tells by whom it is paused, since and until when, and why. */
export function pausedBy({ by, at, until, reason }: Change): string {
  const end = until === null ? 'until it is resumed' : `until ${textOf(until)}`
  return `by ${by} since ${textOf(at)} ${end}${reason === null ? '' : `: ${reason}`}`
}

const textOf = (ms: number) => new Date(ms).toISOString()

/**
 * The last change of each scope. On one partition, which is all that the control topic should have, the order of the records
 * tells which that is; over several only the times do that their writers have set.
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
 * @throws BusUnavailable when a partition of the control topic cannot be read for want of a leader
 * @throws Error when there is no such topic
 */
export function requireReadable(topic: string, look: TopicLook | null): asserts look {
  if (look === null) throw new Error(`there is no topic ${topic}: busgate topics create makes it`)
  const { leaderless } = look
  if (leaderless.length === 0) return
  const partitions = `${count(leaderless.length, 'partition')} of ${topic} (${leaderless.join(', ')})`
  throw new BusUnavailable(`${partitions} without a leader: what is paused is not known until there is one`)
}
