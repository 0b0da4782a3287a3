import { hash } from 'node:crypto'
import { type Bus, type BusRecord, type OutgoingRecord, type RecordsHandler, unreadableCodes } from '../../bus/port.ts'
import { scanPartition, scanTopic } from '../../bus/scan.ts'
import type { Settings } from '../../config/index.ts'
import { originalHeaders, originalKey, replayedFromHeader, replayedRecordHeader } from '../../records/dead-letter.ts'
import {
  type FullLetter,
  headerText,
  type Letter,
  type LetterFilters,
  letterOf,
  matchesLetter,
  placeText,
  type RecordPosition,
  shortPlace,
} from './letter.ts'

/** The letters that a replay would send, and those that it would not. */
export interface ReplayPlan {
  ready: Letter[]
  refused: { letter: Letter; why: string }[]
}

const neverRead: ReadonlySet<string> = new Set(unreadableCodes)

/** Largest clock skew between this machine and the writer of the dead letter. */
const skewMs = 300_000

/**
 * Finds the dead letters that can be replayed. Earlier replays are recognised on their original partition, as long as they are
 * still in the log. A record that failed again can be replayed from its newest dead letter.
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
  const selected: Candidate[] = []
  const newest = new Map<string, Letter>()
  const note: RecordsHandler = async (from, records) => {
    for (const found of records) {
      const { record, ...letter } = letterOf(from, found)
      const isSelected = matchesLetter(letter, filters)
      const why =
        objection(letter, record.value) ??
        perhapsSent(letter, doubts, mayHaveBeenSent) ??
        (isSelected ? await undecodable({ ...letter, record }) : null)
      if (why !== null) {
        if (isSelected) refused.push({ letter, why })
        continue
      }
      const content = contentHash(originalKey(record), record.value)
      const same = `${letter.origin!.topic}/${letter.origin!.partition} ${content}`
      const other = newest.get(same)
      if (!other || isNewer(letter, other)) newest.set(same, letter)
      if (isSelected) selected.push({ letter, content, same })
    }
  }
  await scanTopic(bus, deadLetters, note)
  const last = selected.filter(({ letter, same }) => {
    const other = newest.get(same)!
    if (other !== letter) refused.push({ letter, why: `it failed again, as ${shortPlace(other.place)}` })
    return other === letter
  })
  const possible = await withOrigin(bus, last, refused)
  const replayed = await findReplayed(bus, possible)
  const ready = possible.filter(candidate => {
    const again = replayed.has(nameOfReplay(candidate.letter.place, candidate.content))
    if (again) refused.push({ letter: candidate.letter, why: 'it was replayed before' })
    return !again
  })
  return { ready: ready.map(({ letter }) => letter), refused }
}

interface Candidate {
  letter: Letter
  /** Hash of the record's key and value. */
  content: string
  /** Same for all records of a partition with this key and value. */
  same: string
}

function contentHash(key: BusRecord['key'], value: BusRecord['value']): string {
  const nothing = Buffer.alloc(0)
  return hash('sha256', Buffer.concat([Buffer.from(`${key?.length} `), key ?? nothing, value ?? nothing]))
}

const isNewer = (one: Letter, other: Letter) =>
  one.time === other.time ? one.place.offset > other.place.offset : one.time > other.time

/** Identifies a replay by its header and content, because every producer can write the header. */
const nameOfReplay = (from: RecordPosition | string, content: string) =>
  `${typeof from === 'string' ? from : placeText(from)} ${content}`

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

async function withOrigin(
  bus: Bus,
  candidates: readonly Candidate[],
  refused: ReplayPlan['refused'],
): Promise<Candidate[]> {
  const counts = await bus.partitions([...new Set(candidates.map(({ letter }) => letter.origin!.topic))])
  return candidates.filter(({ letter }) => {
    const { topic, partition } = letter.origin!
    const there = partition < (counts.get(topic) ?? 0)
    if (!there) refused.push({ letter, why: `${topic}/${partition} no longer exists` })
    return there
  })
}

/** Searches the original partitions since the oldest letter. @returns names of the replays found */
async function findReplayed(bus: Bus, candidates: readonly Candidate[]): Promise<Set<string>> {
  const replayed = new Set<string>()
  const groups = Map.groupBy(candidates, ({ letter }) => `${letter.origin!.topic}/${letter.origin!.partition}`)
  for (const group of groups.values()) {
    const since = group.reduce((oldest, { letter }) => Math.min(oldest, letter.time), Number.POSITIVE_INFINITY) - skewMs
    const note: RecordsHandler = (_from, records) => {
      for (const { headers, key, value } of records) {
        const from = headerText(headers[replayedFromHeader])
        if (from !== null) replayed.add(nameOfReplay(from, contentHash(key, value)))
      }
    }
    await scanPartition(bus, group[0]!.letter.origin!, since, note)
  }
  return replayed
}

/**
 * Writes the records back unchanged: bytes, key, headers and partition.
 * @param onReplayed called with letters that all in-sync replicas have
 */
export async function replay(
  bus: Bus,
  topic: string,
  ready: readonly Letter[],
  onReplayed: (letters: readonly Letter[]) => void,
): Promise<void> {
  if (ready.length === 0) return
  const wanted = new Set(ready.map(({ place }) => placeText(place)))
  const publisher = await bus.publisher()
  try {
    await scanTopic(bus, topic, async (from, records) => {
      const letters = records.map(record => letterOf(from, record)).filter(({ place }) => wanted.has(placeText(place)))
      if (letters.length === 0) return
      await publisher.publish(letters.map(recordOf))
      onReplayed(letters)
    })
  } finally {
    await publisher.close()
  }
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
