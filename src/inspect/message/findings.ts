import type { BusRecord, Searched, TopicPartition } from '../../bus/port.ts'
import type { Change } from '../../control/change.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../records/generated.ts'
import { lifecycleAfter, newLifecycle, stateOf, verdictOf } from '../../records/lifecycle.ts'
import { count } from '../../words.ts'
import { bounded } from '../bounded.ts'
import type { Letter, RecordPosition } from '../dead-letters/letter.ts'

export interface Sighting<T> {
  place: RecordPosition
  /** Timestamp of the record, milliseconds since 1970; -1 if unknown. */
  time: number
  value: T
}

/**
 * Progress of a command, or of a doubt, by the group's checkpoint. unread: no worker has opened its partition. later: it waits on
 * the table for its time, or for the end of a pause. waiting: not sent yet. sending: a request is about to begin or in flight.
 * doubted: a request has begun, and its doubt is not written yet.
 */
export type CommandProgress = 'unread' | 'later' | 'waiting' | 'sending' | 'doubted' | 'done' | 'unknown'

export interface FoundCommand {
  command: SendCommand
  type: string
  progress: CommandProgress
  /** The dead letter from which it was replayed. */
  replayedFrom: string | null
  /** Number of unfinished records before it in its partition; null if unknown. */
  ahead: number | null
  /** Id of the schema that its producer wrote it with. */
  schemaId: number | null
}

/** A record with the id as its key, among those that workers have not finished, that cannot be decoded now. */
export interface Undecoded {
  schemaId: number | null
  why: string
}

export interface FoundDoubt extends Doubt {
  progress: CommandProgress
  /** When the gateway is first asked about it, milliseconds since 1970, and how often after that. */
  asked: { from: number; everyMs: number }
}

/** Whether no request for the command has begun, so that a pause can stop it. */
export const isUnsent = ({ progress }: Pick<FoundCommand, 'progress'>): boolean =>
  progress === 'unread' || progress === 'waiting' || progress === 'later'

/** A searched part of a log. */
export interface SearchedLog {
  topic: string
  partition: number
  records: number
  /** Timestamp of the oldest searched record, milliseconds since 1970; null if there is none. */
  since: number | null
  /** Whether older records have been deleted. */
  olderAreGone: boolean
  unreadable: number
}

export function logOf({ topic, partition, from, until, start, since, unreadable }: Searched): SearchedLog {
  return { topic, partition, records: until - from, since, olderAreGone: from === start && start > 0, unreadable }
}

export function logOfOne({ topic, partition }: TopicPartition, { timestamp }: BusRecord): SearchedLog {
  const since = timestamp < 0 ? null : timestamp
  return { topic, partition, records: 1, since, olderAreGone: false, unreadable: 0 }
}

/** Everything found about some messages. */
export interface Findings {
  commands: Sighting<FoundCommand>[]
  results: Sighting<SendResult>[]
  statuses: Sighting<StatusEvent>[]
  doubts: Sighting<FoundDoubt>[]
  letters: Sighting<Letter>[]
  /** Dead letters about ranges of commands that were deleted or skipped; looked for only if nothing explains the message. */
  lost: Sighting<Letter>[]
  undecoded: Sighting<Undecoded>[]
  /** Pauses and withdrawals in force; read only if a command is unsent. */
  controls: Change[]
  /** What the processes report; null if unknown. Read only if a command is unsent, or in doubt. */
  fleet: Fleet | null
  searched: SearchedLog[]
  /** What could not be searched, and why. */
  gaps: string[]
}

/** Most records of a kind that a story tells, and the most characters of them. */
const mostOfKind = 200
const mostCharacters = 1024 * 1024

/**
 * Keeps the first records of each kind, cut to a bounded length, and counts the rest: anybody who may write can give any number
 * of records one id.
 */
export class BoundedFindings {
  readonly all: Findings = noFindings()
  /** By kind and topic: characters kept, and the number of records that are left out. */
  readonly #kinds = new Map<string, { topic: string; room: number; leftOut: number }>()

  keep<K extends 'commands' | 'results' | 'statuses' | 'doubts' | 'letters' | 'lost' | 'undecoded'>(
    kind: K,
    one: Findings[K][number],
  ): void {
    const { topic } = one.place
    const list = this.all[kind] as Sighting<object>[]
    const name = `${kind} ${topic}`
    const known = this.#kinds.get(name) ?? { topic, room: mostCharacters, leftOut: 0 }
    this.#kinds.set(name, known)
    const { value, size } = bounded<object>(one.value)
    if (list.length >= mostOfKind || known.room < size) {
      known.leftOut++
      return
    }
    known.room -= size
    list.push({ ...one, value })
  }

  /** What the story leaves out, as sentences. */
  get leftOut(): string[] {
    return [...this.#kinds.values()].flatMap(({ topic, leftOut }) =>
      leftOut === 0 ? [] : [`${count(leftOut, 'more record')} of ${topic} left out: the story may be incomplete.`],
    )
  }
}

export const noFindings = (): Findings => ({
  ...{ commands: [], results: [], statuses: [], doubts: [], letters: [], lost: [] },
  ...{ undecoded: [], controls: [], fleet: null, searched: [], gaps: [] },
})

export function sightingOf<T>(place: Omit<RecordPosition, 'offset'>, record: BusRecord, value: T): Sighting<T> {
  const { topic, partition } = place
  return { place: { topic, partition, offset: record.offset }, time: record.timestamp, value }
}

type Message = { id: bigint; account: string }

/** The state of a message after these status events, by default after all of its own. */
export function stateAfter(
  { results, statuses }: Findings,
  message: Message,
  events = statuses.map(({ value }) => value).filter(event => isOf(event, message)),
) {
  const life = events.reduce(lifecycleAfter, newLifecycle)
  const unhooked = results.find(({ value }) => isOf(value, message) && value.hooked === false)?.value
  return { ...stateOf(life, unhooked), verdict: verdictOf(life, unhooked) }
}

const isOf = (one: Message, other: Message) => one.id === other.id && one.account === other.account
