// ES2026, in Node 22 and 24; TypeScript's declarations lack it.
type SourceReviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse(text: string, reviver?: SourceReviver): unknown
  rawJSON(text: string): unknown
}

/** Detects a possible number of 16 or more digits; such text is rare and takes the slow path. */
const longNumberPattern = /^\d{16}|[:[,\s-]\d{16}/
const integerPattern = /^-?\d+$/

/** Sign and digits of the longest integer of 64 bits. BigInt takes time quadratic in the digits. */
const longestInteger = 20

const exactInteger: SourceReviver = (_key, value, { source }) => {
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value
  if (!integerPattern.test(source)) return value
  return source.length > longestInteger ? source : BigInt(source)
}

/**
 * JSON.parse that keeps ids exact: an integer literal beyond 2^53-1 becomes a bigint, and one that exceeds 64 bits becomes
 * text.
 * @throws SyntaxError when the text is not JSON; RangeError when it is nested thousands of levels deep
 */
export const parseJson = (text: string): unknown =>
  longNumberPattern.test(text) ? parse(text, exactInteger) : parse(text)

const bigintAsDigits = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(value.toString()) : value

/** JSON.stringify that writes a bigint as a number with all its digits. */
export const stringifyJson = (value: unknown): string => JSON.stringify(value, bigintAsDigits)

/** For JSON.stringify: a bigint as text, whatever its size, since jq and JavaScript round numbers beyond 2^53. */
export const bigintAsText = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value

/** Whether a value is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Keeps an id or a phone as text if an exponent or a point may hide digits. */
const exactNumber: SourceReviver = (key, value, context) =>
  typeof value === 'number' && (key === 'id' || key === 'phone') && !integerPattern.test(context.source ?? '')
    ? context.source
    : exactInteger(key, value, context)

/**
 * Parses JSON that a person wrote: `id` and `phone` with an exponent or a point become text, which no operation accepts.
 * @throws Error with the complaint and the place only: JSON.parse quotes the text, which may be a message
 */
export function parseQuietly(text: string, complaint: string): unknown {
  try {
    return parse(text, exactNumber)
  } catch (error) {
    throw new Error(`${complaint}: ${(error as Error).message.replace(quotation, '')}`)
  }
}

/** The text that V8 quotes behind its complaint. */
const quotation = /, (?:\.\.\.)?".*$/s

/** Path to the first text for which `isWrong` holds, or to the object with such a key; null if there is none. */
export function pathToText(value: unknown, isWrong: (text: string) => boolean): string[] | null {
  if (typeof value === 'string') return isWrong(value) ? [] : null
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return null
  for (const [key, part] of Object.entries(value)) {
    if (isWrong(key)) return []
    const path = pathToText(part, isWrong)
    if (path) return [key, ...path]
  }
  return null
}

/** Whether the text contains half of a surrogate pair, usually of a truncated emoji; UTF-8 cannot encode it. */
export const isCutText = (text: string): boolean => !text.isWellFormed()

export const cutTextComplaint = 'holds half of a surrogate pair, such as an emoji that was cut in two'
