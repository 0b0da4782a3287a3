import { choiceFlag, type Flag, textFlag } from '../framework/command.ts'

/** Filters of dead letters, by the names that `Filters` has for them. */
export const filterFlags = {
  stage: choiceFlag('STAGE', ['decode', 'callback'], 'Only those that died there.'),
  code: textFlag('CODE', 'Only those with this code, such as SCHEMA_NOT_FOUND.'),
  topic: textFlag('TOPIC', 'Only those that came from this topic.'),
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
