import { z } from 'zod'
import { isObject } from './json.ts'
import { must } from './messages.ts'

/*
 * Fields of the gateway's answers. A field of an unexpected type never invalidates the answer, because its message has been sent
 * and paid for: it is converted, or left as it came in `raw`.
 */

/** A field that is absent if it cannot be read. */
export const tolerantField = <T>(read: (value: unknown) => T | null | undefined) =>
  z
    .unknown()
    .transform(value => read(value) ?? undefined)
    .optional()

const idOrNull = (value: unknown): string | number | bigint | null =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? value : null

/** Text, or a number as text; else null. */
export function textOrNull(value: unknown): string | null {
  const id = idOrNull(value)
  return id === null ? null : String(id)
}

/** Digits after a leading zero are a code, which a number would change. */
const decimalPattern = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** A number, or text that contains one; else null. */
export function numberOrNull(value: unknown): number | null {
  const isNumeral = typeof value === 'bigint' || (typeof value === 'string' && decimalPattern.test(value.trim()))
  const number = isNumeral ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** true or false, also as text; else null. */
export const flagOrNull = (value: unknown): boolean | null =>
  typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : null

/** Text, or a number written as text. */
export const tolerantText = tolerantField(textOrNull)

/** A number, or a string that holds one. */
export const tolerantNumber = tolerantField(numberOrNull)

/** true or false, also as text. */
export const tolerantFlag = tolerantField(flagOrNull)

/** An identifier as received: string, number or bigint. Compare with sameId. */
export const tolerantId = tolerantField(idOrNull)

/** A nested object. */
export const tolerantObject = <S extends z.ZodType>(schema: S) =>
  tolerantField((value): z.output<S> | undefined => schema.safeParse(value).data)

/** A list; if an element cannot be read, the whole list counts as unread. */
export const tolerantList = <S extends z.ZodType>(element: S) =>
  tolerantField((value): z.output<S>[] | undefined => z.array(element).safeParse(value).data)

/** Fields of an answer as they came, because they could not be read. */
type Unread = { raw?: Record<string, unknown> }

const mustBeObject = must('an object')

/**
 * An object of the gateway's answers: these known fields, if they can be read, and any others. Known fields that cannot be read
 * are in `raw`, as they came.
 */
export const answerObject = <S extends z.ZodRawShape>(known: S, error = mustBeObject) => {
  const schema = z.looseObject(known, { error })
  type Output = z.output<typeof schema> & Unread
  const answer = z.unknown().transform((value, context): Output => {
    const { data, error } = schema.safeParse(value)
    if (error) {
      for (const issue of error.issues) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue)
      return z.NEVER
    }
    return withRaw(data, value as Record<string, unknown>, Object.keys(known)) as Output
  })
  return answer.meta({ fields: Object.keys(known) })
}

/** Moves the fields that could not be read into `raw`. */
function withRaw(read: Record<string, unknown>, came: Record<string, unknown>, known: readonly string[]): object {
  const absent = known.filter(name => name in read && read[name] === undefined)
  if (absent.length === 0) return read
  const isUnread = (name: string) => came[name] !== undefined && came[name] !== null
  const raw = Object.fromEntries(absent.filter(isUnread).map(name => [name, came[name]]))
  const fields = Object.fromEntries(Object.entries(read).filter(([name]) => !absent.includes(name)))
  if (Object.keys(raw).length === 0) return fields
  return { ...fields, raw: 'raw' in came ? { ...raw, raw: came.raw } : raw }
}

/** An answer that is no object becomes one, with the answer as its `value`. */
export const asObject = (value: unknown): Record<string, unknown> =>
  isObject(value) ? value : value === undefined || value === null ? {} : { value }

/** A payload of any shape: never invalid. */
export const openPayload = <S extends z.ZodRawShape>(known: S) =>
  z.preprocess(asObject, answerObject(known)).meta({ fields: Object.keys(known) })
