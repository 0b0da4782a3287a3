import { type Bus, type OutgoingRecord, type Publisher, type RecordsHandler, unreadableCodes } from '../../bus/port.ts'
import { scanTopic } from '../../bus/scan.ts'
import type { Settings } from '../../config/index.ts'
import {
  originalHeaders,
  originalKey,
  replayedFromHeader,
  replayedLetterHeader,
  replayedRecordHeader,
  replayMark,
} from '../../records/dead-letter.ts'
import {
  type FullLetter,
  headerText,
  type Letter,
  type LetterFilters,
  lettersOf,
  matchesLetter,
  placeText,
  readableOnce,
  shortPlace,
} from './letter.ts'

/** The letters that a replay would send, and those that it would not. */
export interface ReplayPlan {
  ready: Letter[]
  refused: Refusal[]
}

export interface Refusal {
  letter: Letter
  why: string
  /** What there is left to do: nothing after a replay; nothing that a replay could do; or a replay, later or with a flag. */
  left: 'nothing' | 'no replay' | 'a replay'
}

const neverRead: ReadonlySet<string> = new Set(unreadableCodes)
/** Longest place that a mark names. */
const longestMark = 40

/**
 * Finds the dead letters that can be replayed: each once, as its mark tells. If a record has several letters, only the newest.
 * @param undecodable says why a letter cannot be decoded; null if it can
 * @param mayHaveBeenSent whether to replay commands that were perhaps sent, too
 */
export async function planReplay(
  bus: Bus,
  { deadLetters, doubts }: Pick<Settings['topics'], 'deadLetters' | 'doubts'>,
  filters: LetterFilters,
  undecodable: (letter: FullLetter) => Promise<string | null>,
  mayHaveBeenSent = false,
): Promise<ReplayPlan> {
  const refused: ReplayPlan['refused'] = []
  const selected: Letter[] = []
  const replayed = new Set<string>()
  const newest = new Map<string, Letter>()
  const note: RecordsHandler = async (from, records) => {
    for (const { headers } of records) {
      const marked = headerText(headers[replayedLetterHeader], longestMark)
      if (marked !== null) replayed.add(marked)
    }
    for (const { record, ...letter } of lettersOf(from, records)) {
      const { origin } = letter
      if (origin) newest.set(placeText(origin), newestOf(newest.get(placeText(origin)), letter))
      if (!matchesLetter(letter, filters)) continue
      const refusal =
        objection(letter, record.value, doubts) ??
        perhapsSent(letter, mayHaveBeenSent) ??
        whileUndecodable(letter, await undecodable({ ...letter, record }))
      if (refusal === null) selected.push(letter)
      else refused.push(refusal)
    }
  }
  await scanTopic(bus, deadLetters, note)
  const counts = await bus.partitions([...new Set(selected.map(({ origin }) => origin!.topic))])
  const ready = selected.filter(letter => {
    const { topic, partition } = letter.origin!
    const last = newest.get(placeText(letter.origin!))!
    const isThere = Number.isSafeInteger(partition) && partition >= 0 && partition < (counts.get(topic) ?? 0)
    if (replayed.has(shortPlace(letter.place))) refused.push({ letter, why: 'it was replayed before', left: 'nothing' })
    else if (last !== letter)
      refused.push({ letter, why: `it failed again, as ${shortPlace(last.place)}`, left: 'no replay' })
    else if (!isThere) refused.push({ letter, why: `${topic}/${partition} no longer exists`, left: 'a replay' })
    else return true
    return false
  })
  return { ready, refused }
}

const newestOf = (one: Letter | undefined, other: Letter): Letter =>
  one && (one.time === other.time ? one.place.offset > other.place.offset : one.time > other.time) ? one : other

/** Why no replay can ever help; null if one can. */
function objection(letter: Letter, value: Buffer | null, doubts: string): Refusal | null {
  const { origin, code } = letter
  const refuse = (why: string): Refusal => ({ letter, why, left: 'no replay' })
  if (code === 'RECORDS_SKIPPED')
    return refuse('its records are on their topic: reset the offset of the group to send them')
  if (code === 'RECORDS_DELETED') {
    return refuse(
      `its records were deleted${letter.perhapsSent ? ' and perhaps sent' : ''}: only their producer has them`,
    )
  }
  if (neverRead.has(code)) return refuse('its bytes can never be read: its producer must resend it')
  if (origin === null) return refuse('it was a callback and has no topic')
  if (value === null) return refuse('it has no value to replay')
  if (letter.perhapsSent && origin.topic === doubts)
    return refuse('its command was perhaps sent; its result says what is known')
  return null
}

function perhapsSent(letter: Letter, mayHaveBeenSent: boolean): Refusal | null {
  if (!letter.perhapsSent || mayHaveBeenSent) return null
  const why = 'it was perhaps sent: --perhaps-sent replays it, at the risk of a second message'
  return { letter, why, left: 'a replay' }
}

const whileUndecodable = (letter: Letter, why: string | null): Refusal | null =>
  why === null ? null : { letter, why, left: letter.code in readableOnce ? 'a replay' : 'no replay' }

/** Writes replays; opened before the plan is made, so that of two replays at once the later ends the earlier. */
export const openReplay = (bus: Bus) => bus.atomicPublisher('replay')

/**
 * Writes the records back unchanged: bytes, key, headers and partition. Each is one transaction with its letter's mark.
 * @param onReplayed called with letters that all in-sync replicas have
 */
export async function replay(
  bus: Bus,
  publisher: Pick<Publisher, 'publish'>,
  topic: string,
  ready: readonly Letter[],
  onReplayed: (letters: readonly Letter[]) => Promise<void> | void,
): Promise<void> {
  if (ready.length === 0) return
  const wanted = new Set(ready.map(({ place }) => placeText(place)))
  let writing = Promise.resolve()
  await scanTopic(bus, topic, async (from, records) => {
    const letters = lettersOf(from, records).filter(({ place }) => wanted.has(placeText(place)))
    if (letters.length === 0) return
    writing = writing.then(() =>
      publisher.publish(letters.flatMap(letter => [recordOf(letter), replayMark(letter.place)])),
    )
    await writing
    await onReplayed(letters)
  })
}

function recordOf({ place, origin, record }: FullLetter): OutgoingRecord {
  return {
    topic: origin!.topic,
    partition: origin!.partition,
    key: originalKey(record),
    value: record.value,
    headers: {
      ...originalHeaders(record),
      [replayedFromHeader]: placeText(place),
      [replayedRecordHeader]: placeText(origin!),
    },
  }
}
