import { z } from 'zod'
import { isObject } from './json.ts'

/*
 * Fields of the gateway's answers. A field of an unexpected type is converted or omitted and never invalidates the
 * answer, because its message has been sent and paid for.
 */

const field = <T>(read: (value: unknown) => T | null | undefined) =>
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

const decimalPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** A number, or text that contains one; else null. */
export function numberOrNull(value: unknown): number | null {
  const isNumeral = typeof value === 'bigint' || (typeof value === 'string' && decimalPattern.test(value.trim()))
  const number = isNumeral ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

const dateTime = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)$/i

/**
 * Parses an ISO 8601 date-time with a UTC offset into milliseconds since 1970, truncated to milliseconds. null if the text is
 * not a date-time or has no offset.
 */
export function instantOf(text: string): number | null {
  const [, date, time, offset] = dateTime.exec(text.trim()) ?? []
  if (date === undefined || time === undefined || offset === undefined) return null
  const [year, month, day] = date.split('-').map(Number)
  const isDay = day! <= new Date(Date.UTC(year!, month!, 0)).getUTCDate() // Date would turn 30 February into 2 March
  const instant = Date.parse(`${date}T${time}${offset.replace(/^(.\d\d)(\d\d)$/, '$1:$2').toUpperCase()}`)
  return isDay && !Number.isNaN(instant) ? instant : null
}

/** true or false, also as text; else null. */
export const flagOrNull = (value: unknown): boolean | null =>
  typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : null

/** Text, or a number written as text; anything else counts as absent. */
export const tolerantText = field(textOrNull)

/** A number, or a string that holds one; anything else counts as absent. */
export const tolerantNumber = field(numberOrNull)

/** true or false, also as text; anything else counts as absent. */
export const tolerantFlag = field(flagOrNull)

/** An identifier as received: string, number or bigint. Compare with sameId. */
export const tolerantId = field(idOrNull)

/** A nested object; anything that cannot be parsed counts as absent. */
export const tolerantObject = <S extends z.ZodType>(schema: S) =>
  field((value): z.output<S> | undefined => schema.safeParse(value).data)

/** A list without elements that cannot be parsed; anything but a list counts as absent. */
export const tolerantList = <S extends z.ZodType>(element: S) =>
  field((value): z.output<S>[] | undefined =>
    Array.isArray(value) ? value.flatMap(item => element.safeParse(item).data ?? []) : undefined,
  )

const asObject = (value: unknown): unknown =>
  isObject(value) ? value : value === undefined || value === null ? {} : { value }

/** A payload with an unspecified shape: known optional fields and any others. Its `value` is an answer that is no object. */
export const openPayload = <S extends z.ZodRawShape>(known: S) => z.preprocess(asObject, z.looseObject(known))
