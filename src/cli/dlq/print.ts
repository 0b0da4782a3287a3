import type { Settings } from '../../config/index.ts'
import { contentOf, rawOf, shown } from '../../inspect/dead-letters/content.ts'
import { type FullLetter, headerText, jsonOf, type Letter, shortPlace } from '../../inspect/dead-letters/letter.ts'
import { originalHeaders, originalKey } from '../../records/dead-letter.ts'
import { printable, printableLines } from '../framework/printable.ts'

/** Shows a letter, without its content, in one line. */
export function letterLine(letter: Letter): string {
  const { at, time, stage, code, message, origin } = jsonOf(letter)
  return printable([at, time, stage, code, origin, message].filter(Boolean).join('  '))
}

/** Says in one line what becomes of a letter in a replay. */
export function replayLineOf(state: string, { place, origin }: Letter, why: string | undefined): string {
  const to = origin && `→ ${origin.topic}/${origin.partition}`
  return printable([state.padEnd(8), shortPlace(place), to, why].filter(Boolean).join('  '))
}

/** A dead letter with its content. */
export async function fullJsonOf(letter: FullLetter, reveal: boolean, settings: Settings): Promise<object> {
  const { record } = letter
  const { bytes, decoded, error } = await contentOf(letter, settings)
  const headers = Object.entries(originalHeaders(record)).map(([name, value]) => [name, headerText(value)])
  return {
    ...jsonOf(letter),
    key: originalKey(record)?.toString() ?? null,
    headers: Object.fromEntries(headers),
    bytes,
    value: shown(decoded, reveal),
    ...(error !== null && { undecodable: error }),
    ...(error !== null && reveal && { raw: rawOf(record.value) }),
  }
}

/** JSON for people: an id beyond 2^53 stands in quotes. */
export function indented(value: object): string {
  const readable = (_key: string, one: unknown) =>
    typeof one === 'bigint' ? (Number.isSafeInteger(Number(one)) ? Number(one) : String(one)) : one
  return printableLines(JSON.stringify(value, readable, 2))
}
