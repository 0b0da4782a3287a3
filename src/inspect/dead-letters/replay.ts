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
  shortPlace,
} from './letter.ts'

/** The letters that a replay would send, and those that it would not. */
export interface ReplayPlan {
  ready: Letter[]
  refused: { letter: Letter; why: string }[]
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
      const why =
        objection(letter, record.value) ??
        perhapsSent(letter, doubts, mayHaveBeenSent) ??
        (await undecodable({ ...letter, record }))
      if (why === null) selected.push(letter)
      else refused.push({ letter, why })
    }
  }
  await scanTopic(bus, deadLetters, note)
  const counts = await bus.partitions([...new Set(selected.map(({ origin }) => origin!.topic))])
  const ready = selected.filter(letter => {
    const { topic, partition } = letter.origin!
    const last = newest.get(placeText(letter.origin!))!
    if (replayed.has(shortPlace(letter.place))) refused.push({ letter, why: 'it was replayed before' })
    else if (last !== letter) refused.push({ letter, why: `it failed again, as ${shortPlace(last.place)}` })
    else if (!Number.isSafeInteger(partition) || partition < 0 || partition >= (counts.get(topic) ?? 0))
      refused.push({ letter, why: `${topic}/${partition} no longer exists` })
    else return true
    return false
  })
  return { ready, refused }
}

const newestOf = (one: Letter | undefined, other: Letter): Letter =>
  one && (one.time === other.time ? one.place.offset > other.place.offset : one.time > other.time) ? one : other

function objection({ origin, code }: Letter, value: Buffer | null): string | null {
  if (neverRead.has(code)) return 'its bytes can never be read: its producer must resend it'
  if (origin === null) return 'it was a callback and has no topic'
  return value === null ? 'it has no value to replay' : null
}

function perhapsSent({ perhapsSent, origin }: Letter, doubts: string, mayHaveBeenSent: boolean): string | null {
  if (!perhapsSent) return null
  if (origin?.topic === doubts) return 'its command was perhaps sent; its result says what is known'
  return mayHaveBeenSent ? null : 'it was perhaps sent: --perhaps-sent replays it, at the risk of a second message'
}

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
