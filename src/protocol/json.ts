// Standard since ES2026 and in Node 22 and 24; the library declarations of ES2024 do not have them yet.
type SourceReviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse(text: string, reviver?: SourceReviver): unknown
  rawJSON(text: string): unknown
}

/** True when a number of 16 digits or more may begin somewhere: rare, and read the slow way. */
const longNumberPattern = /^\d{16}|[:[,\s-]\d{16}/
const integerPattern = /^-?\d+$/

const exactInteger: SourceReviver = (_key, value, { source }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && integerPattern.test(source)
    ? BigInt(source)
    : value

/**
 * JSON.parse that keeps identifiers whole: an integer literal beyond 2^53-1 becomes a bigint.
 * @throws SyntaxError when the text is not JSON, RangeError when it is nested thousands of levels deep.
 */
export const parseJson = (text: string): unknown =>
  longNumberPattern.test(text) ? parse(text, exactInteger) : parse(text)

const bigintAsDigits = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(value.toString()) : value

/** JSON.stringify that writes a bigint as a number, digit by digit. */
export const stringifyJson = (value: unknown): string => JSON.stringify(value, bigintAsDigits)

/** Tells whether a value is what JSON calls an object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws Error with the complaint and the place alone: JSON.parse quotes what it was given, which may be somebody's message */
export function parseQuietly(text: string, complaint: string): unknown {
  try {
    return parseJson(text)
  } catch {
    const flaw = flawIn(text)
    throw new Error(flaw > text.length ? `${complaint}: it ends too early` : `${complaint}: look at character ${flaw}`)
  }
}

/** The character, counted from 1, at which a text stops being the beginning of JSON. JSON.parse does not always say it. */
function flawIn(text: string): number {
  let [fine, wrong] = [0, text.length + 1]
  while (wrong - fine > 1) {
    const length = (fine + wrong) >> 1
    if (mayBecomeJson(text.slice(0, length))) fine = length
    else wrong = length
  }
  return wrong
}

/** Tells whether nothing is wrong with a text but that it ends. */
function mayBecomeJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const { message } = error as Error
    return message === 'Unexpected end of JSON input' || message.includes(` at position ${text.length} `)
  }
}

/**
 * The path to the first text of the value for which `isWrong` holds, or to the object with such a name in it; null: there
 * is none.
 */
export function pathToText(value: unknown, isWrong: (text: string) => boolean): string[] | null {
  if (typeof value === 'string') return isWrong(value) ? [] : null
  if (typeof value !== 'object' || value === null) return null
  for (const [key, part] of Object.entries(value)) {
    if (isWrong(key)) return []
    const path = pathToText(part, isWrong)
    if (path) return [key, ...path]
  }
  return null
}

/** Tells whether a text has half of a surrogate pair, which no UTF-8 can hold: most often an emoji that was cut. */
export const isCutText = (text: string): boolean => !text.isWellFormed()

export const cutTextComplaint = 'holds half of a surrogate pair, such as an emoji that was cut in two'
