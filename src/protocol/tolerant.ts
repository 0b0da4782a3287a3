import { z } from 'zod'

/*
 * Fields of what the gateway answers. The message behind an answer has been sent and paid for, so a field of an
 * unexpected type is converted or left out and never makes the whole answer unreadable.
 */

const field = <T>(read: (value: unknown) => T | undefined) => z.unknown().transform(read).optional()

const toText = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value
  return value === undefined || typeof value === 'object' ? undefined : String(value)
}

const toNumber = (value: unknown): number | undefined => {
  if (typeof value === 'string' && value.trim() === '') return undefined
  const number = typeof value === 'string' || typeof value === 'bigint' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

const toId = (value: unknown): string | number | bigint | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? value : undefined

/** Text, or a number or a flag written as text; anything else counts as absent. */
export const tolerantText = field(toText)

/** A number, or a string that holds one; anything else counts as absent. */
export const tolerantNumber = field(toNumber)

/** true or false, as such or as text. */
export const toFlag = (value: unknown): boolean | undefined =>
  typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : undefined

/** true or false, also as text; anything else counts as absent. */
export const tolerantFlag = field(toFlag)

/** An identifier as it came: string, number or bigint. Compare with sameId. */
export const tolerantId = field(toId)

/** A nested object; anything that does not read as one counts as absent. */
export const tolerantObject = <S extends z.ZodType>(schema: S) =>
  field((value): z.output<S> | undefined => schema.safeParse(value).data)

/** A list without the elements that cannot be read; anything but a list counts as absent. */
export const tolerantList = <S extends z.ZodType>(element: S) =>
  field((value): z.output<S>[] | undefined =>
    Array.isArray(value) ? value.flatMap(item => element.safeParse(item).data ?? []) : undefined,
  )

type NoObject = unknown[] | string | number | bigint | boolean | null | undefined

const noObject = z.custom<NoObject>(value => typeof value !== 'object' || value === null || Array.isArray(value))

/**
 * A payload whose shape the specification leaves open: an object with the fields that are known from elsewhere and
 * whatever else it holds, or any other JSON value.
 */
export const openPayload = <S extends z.ZodRawShape>(known: S) => z.union([z.looseObject(known), noObject])
