import type { Bus } from '../../bus/port.ts'
import { scanTopic } from '../scan.ts'
import { type FullLetter, type Letter, letterOf, shortPlace } from './letter.ts'
import { type LetterFilters, matchesLetter } from './select.ts'

type LetterSource = Pick<Bus, 'follow' | 'partitions'>

/** The newest that match, the newest at the end, and how many match in all. */
export async function newestLetters(
  bus: LetterSource,
  topic: string,
  filters: LetterFilters,
  limit: number,
): Promise<{ newest: Letter[]; matching: number }> {
  let newest: Letter[] = []
  let matching = 0
  const prune = () => {
    newest = newest.sort((a, b) => a.time - b.time || a.place.offset - b.place.offset).slice(-limit)
  }
  await scanTopic(bus, topic, (from, records) => {
    for (const found of records) {
      const { record: _record, ...letter } = letterOf(from, found) // its bytes need not be kept
      if (!matchesLetter(letter, filters)) continue
      matching++
      newest.push(letter)
    }
    if (newest.length > 2 * limit) prune()
  })
  prune()
  return { newest, matching }
}

/** @param place `partition@offset` @throws Error when it is not there */
export async function findLetter(bus: LetterSource, topic: string, place: string): Promise<FullLetter> {
  let found: FullLetter | undefined
  await scanTopic(bus, topic, (from, records) => {
    found ??= records.map(record => letterOf(from, record)).find(letter => shortPlace(letter.place) === place)
  })
  if (!found) throw new Error(`there is no dead letter at ${place} of ${topic}: busgate dlq list shows them`)
  return found
}
