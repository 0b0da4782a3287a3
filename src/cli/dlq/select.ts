import { choice, type Flag, text } from '../command.ts'
import { type Letter, shortPlace } from './letter.ts'

export const filterFlags = {
  stage: choice('STAGE', ['decode', 'callback'], 'Only those that died there.'),
  code: text('CODE', 'Only those with this code, such as SCHEMA_NOT_FOUND.'),
  topic: text('TOPIC', 'Only those that came from this topic.'),
}

/** `partition@offset`, as the list shows it. */
export const atFlag: Flag<string[]> = {
  value: 'P@OFFSET,…',
  help: 'Dead letters by partition and offset, as dlq list shows them.',
  read: list => {
    const places = list.split(',')
    if (places.every(place => /^\d+@\d+$/.test(place))) return places
    throw new Error('expected partition@offset, such as 0@12; several with commas between')
  },
}

export interface Filters {
  stage?: string
  code?: string
  topic?: string
  at?: string[]
}

export function matches(letter: Letter, filters: Filters): boolean {
  const { stage, code, topic, at } = filters
  return (
    (stage === undefined || letter.stage === stage) &&
    (code === undefined || letter.code === code) &&
    (topic === undefined || letter.origin?.topic === topic) &&
    (at === undefined || at.includes(shortPlace(letter.place)))
  )
}
