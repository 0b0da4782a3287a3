import { z } from 'zod'
import { must } from './messages.ts'

const largestId = 2n ** 63n - 1n

/** Whether a value is a message id. */
export const isMessageId = (value: unknown): boolean =>
  typeof value === 'bigint' ? value >= 1n && value <= largestId : Number.isSafeInteger(value) && (value as number) >= 1

/** Only a JavaScript program can pass a number that has lost digits; errors in results do not speak of bigints. */
const bigintHint = (value: unknown) =>
  typeof value === 'number' && value > Number.MAX_SAFE_INTEGER ? ', as a bigint (17n) above 2^53' : ''

/** The caller's unique identifier of a message: 1 to 2^63-1, as a bigint beyond 2^53. */
export const messageId = z
  .custom<number | bigint>(isMessageId, {
    error: issue => `${must(`a whole number from 1 to ${largestId}`)(issue)}${bigintHint(issue.input)}`,
    abort: true,
  })
  .meta({ expects: `a whole number from 1 to ${largestId}`, description: "The caller's own unique id of the message." })

/** Parses an id from decimal text; null if it is not one. */
export function idIn(text: string): bigint | null {
  if (!/^[1-9]\d{0,18}$/.test(text)) return null
  const id = BigInt(text)
  return id <= largestId ? id : null
}

/**
 * An id in an answer or a callback as decimal text, without padding (spaces and zeros); undefined if it is missing or empty. The
 * gateway writes ids as numbers or as text. A number that has lost digits is nobody's.
 */
export function echoedId(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : 'nobody'
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? value.trim().replace(/^0+(?=\d)/, '') || undefined : undefined
}

/** Returns whether an id in an answer is this message's. */
export const sameId = (echoed: unknown, id: bigint | number): boolean => echoedId(echoed) === String(id)

/**
 * Whether an id in an answer or a callback was made of this one by a program that keeps numbers as doubles, which lose digits
 * beyond 2^53.
 */
export function isRounded(echoed: unknown, id: string): boolean {
  const text = typeof echoed === 'number' ? String(echoed) : (echoedId(echoed) ?? '')
  const double = Number(text)
  if (!(double > Number.MAX_SAFE_INTEGER) || double !== Number(id)) return false
  return !/^\d+$/.test(text) || text === String(double) || text === String(BigInt(double))
}
