import { type Letter, shortPlace } from './letter.ts'

/** LetterFilters say which dead letters are meant. */
export interface LetterFilters {
  stage?: string
  code?: string
  /** Where they came from. */
  topic?: string
  /** `partition@offset`, where they stand. */
  at?: string[]
}

export function matchesLetter(letter: Letter, filters: LetterFilters): boolean {
  const { stage, code, topic, at } = filters
  return (
    (stage === undefined || letter.stage === stage) &&
    (code === undefined || letter.code === code) &&
    (topic === undefined || letter.origin?.topic === topic) &&
    (at === undefined || at.includes(shortPlace(letter.place)))
  )
}
