import type { BusRecord, RecordHeaders } from '../../bus/port.ts'
import type { Change } from '../../control/change.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../records/generated.ts'
import { type Lifecycle, lifecycleAfter, newLifecycle, newUnhookedLifecycle } from '../../statuses/lifecycle.ts'
import type { Letter, RecordPosition } from '../dead-letters/letter.ts'

/** A record that was found. */
export interface Sighting<T> {
  place: RecordPosition
  /** When it was written, milliseconds since 1970; -1: unknown. */
  time: number
  headers: RecordHeaders
  value: T
}

/**
 * CommandProgress is what the group of the workers knows of a command. unread: nobody has begun on its partition.
 * waiting: it was not sent yet. sending: a request for it was about to begin. doubted: a request was begun, and its
 * doubt is not written yet.
 */
export type CommandProgress = 'unread' | 'waiting' | 'sending' | 'doubted' | 'done' | 'unknown'

export interface FoundCommand {
  command: SendCommand
  type: string
  progress: CommandProgress
  /** The dead letter that it was replayed from. */
  replayedFrom: string | null
}

/** Tells whether no request for the command was begun, so that a pause can hold it up. */
export const isUnsent = ({ progress }: FoundCommand): boolean => progress === 'unread' || progress === 'waiting'

/** A part of a log that was looked through. */
export interface SearchedLog {
  topic: string
  /** null: all of them. */
  partition: number | null
  records: number
  /** When the oldest record that was looked at was written, milliseconds since 1970; null: there was none. */
  since: number | null
  /** Whether older records were there, and are deleted. */
  olderAreGone: boolean
  unreadable: number
}

/** All that was found about some messages. */
export interface Findings {
  commands: Sighting<FoundCommand>[]
  results: Sighting<SendResult>[]
  statuses: Sighting<StatusEvent>[]
  doubts: Sighting<Doubt>[]
  letters: Sighting<Letter>[]
  /** What is paused and withdrawn now. It is looked up when a command was not sent yet. */
  controls: Change[]
  searched: SearchedLog[]
  /** What could not be looked at, and why. */
  gaps: string[]
}

export const noFindings = (): Findings => ({
  ...{ commands: [], results: [], statuses: [], doubts: [], letters: [] },
  ...{ controls: [], searched: [], gaps: [] },
})

export function sightingOf<T>(place: Omit<RecordPosition, 'offset'>, record: BusRecord, value: T): Sighting<T> {
  const { topic, partition } = place
  return { place: { topic, partition, offset: record.offset }, time: record.timestamp, headers: record.headers, value }
}

type Message = { id: bigint; account: string }

/**
 * Tells what is known of a message of which nothing but its sending is: its result tells whether it had a hook of its
 * own.
 */
export function sentLife({ results }: Findings, message: Message): Lifecycle {
  const unhooked = results.some(({ value }) => isOf(value, message) && value.hooked === false)
  return unhooked ? newUnhookedLifecycle : newLifecycle
}

/** Tells what all status events about the message come to. */
export function lifeOf(findings: Findings, message: Message): Lifecycle {
  const events = findings.statuses.map(({ value }) => value).filter(event => isOf(event, message))
  return events.reduce(lifecycleAfter, sentLife(findings, message))
}

const isOf = (one: Message, other: Message) => one.id === other.id && one.account === other.account
