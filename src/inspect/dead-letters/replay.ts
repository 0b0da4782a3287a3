import { type Bus, type OutgoingRecord, type RecordsHandler, unreadableCodes } from '../../bus/port.ts'
import { originalHeaders, originalKey, replayedFromHeader } from '../../records/dead-letter.ts'
import { scanPartition, scanTopic } from '../scan.ts'
import { type FullLetter, headerText, type Letter, letterOf, placeText } from './letter.ts'
import { type LetterFilters, matchesLetter } from './select.ts'

/** ReplayPlan is what a replay would do. */
export interface ReplayPlan {
  ready: Letter[]
  refused: { letter: Letter; why: string }[]
}

const neverRead: ReadonlySet<string> = new Set(unreadableCodes)

/** Clocks of whoever replays and whoever wrote the dead letter differ by less. */
const skewMs = 300_000

/**
 * Finds those of the dead letters that can be replayed. What was replayed before is found where it went, as long as it is there.
 * @param ending gives up
 */
export async function planReplay(
  bus: Bus,
  topic: string,
  filters: LetterFilters,
  ending?: AbortSignal,
): Promise<ReplayPlan> {
  const refused: ReplayPlan['refused'] = []
  const selected: Letter[] = []
  const replayed = new Set<string>()
  const note: RecordsHandler = (from, records) => {
    for (const found of records) {
      const { record, ...letter } = letterOf(from, found)
      if (letter.replayedFrom !== null) replayed.add(letter.replayedFrom)
      if (!matchesLetter(letter, filters)) continue
      const why = objection(letter, record.value)
      if (why === null) selected.push(letter)
      else refused.push({ letter, why })
    }
  }
  await scanTopic(bus, topic, note, ending)
  const possible = await withOrigin(bus, selected, refused)
  await findReplayed(bus, possible, replayed, ending)
  const ready = possible.filter(letter => {
    const again = replayed.has(placeText(letter.place))
    if (again) refused.push({ letter, why: 'it was replayed before' })
    return !again
  })
  return { ready, refused }
}

function objection({ origin, code }: Letter, value: Buffer | null): string | null {
  if (neverRead.has(code)) return 'its bytes could never be read: its producer has to send it anew'
  if (origin === null) return 'it was a callback, and came from no topic'
  return value === null ? 'it has no value to send again' : null
}

async function withOrigin(bus: Bus, letters: Letter[], refused: ReplayPlan['refused']): Promise<Letter[]> {
  const counts = await bus.partitions([...new Set(letters.map(({ origin }) => origin!.topic))])
  return letters.filter(letter => {
    const { topic, partition } = letter.origin!
    const there = partition < (counts.get(topic) ?? 0)
    if (!there) refused.push({ letter, why: `there is no ${topic}/${partition} any more` })
    return there
  })
}

/** Reads the partitions that they came from, since the oldest of them died. */
async function findReplayed(
  bus: Bus,
  letters: readonly Letter[],
  replayed: Set<string>,
  ending: AbortSignal | undefined,
): Promise<void> {
  const groups = Map.groupBy(letters, ({ origin }) => `${origin!.topic}/${origin!.partition}`)
  for (const group of groups.values()) {
    const since = group.reduce((oldest, { time }) => Math.min(oldest, time), Number.POSITIVE_INFINITY) - skewMs
    const note: RecordsHandler = (_from, records) => {
      for (const { headers } of records) {
        const from = headerText(headers[replayedFromHeader])
        if (from !== null) replayed.add(from)
      }
    }
    await scanPartition(bus, group[0]!.origin!, since, note, ending)
  }
}

/**
 * Sends them back as they came: bytes, key, headers and partition.
 * @param onReplayed is told of those that all in-sync replicas hold
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
    headers: { ...originalHeaders(record), [replayedFromHeader]: placeText(place) },
  }
}
