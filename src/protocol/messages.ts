import type { z } from 'zod'

/** Metadata of a schema for help texts and docstrings. */
interface Meta {
  description?: string
  /** The constraint, as in refusals. */
  expects?: string
}

type Issue = Pick<z.core.$ZodRawIssue, 'path' | 'input'>

/** Builds a refusal: names the field and the constraint, never the value, which may be a phone number or a message. */
export const must = (allowed: string) => (issue: Issue) =>
  `${fieldName(issue.path)} ${issue.input === undefined ? 'is required and must be' : 'must be'} ${allowed}`

/** A schema with its constraint in refusals and in its metadata. @param make receives the error builder */
export const expecting = <T extends z.ZodType>(expects: string, make: (error: ReturnType<typeof must>) => T): T =>
  make(must(expects)).meta({ expects })

/** Describes a field for help texts and docstrings: its purpose, and limits that its type does not show. */
export function meaningOf(field: z.ZodType): string {
  const { description = '', expects = '' } = metaOf(field)
  const isPlain = ['', 'text', 'an object', 'true or false'].includes(expects)
  return isPlain ? description : `${description} It is ${expects}.`
}

/** For an optional field, the metadata is on the inner schema. */
const metaOf = (field: z.ZodType): Meta =>
  (field.meta() as Meta | undefined) ??
  (field.def.type === 'optional' ? metaOf((field as z.ZodOptional<z.ZodType>).unwrap()) : {})

/** The name of a field, such as `viber_carousel[1].caption`. */
export const fieldName = (path: PropertyKey[] = []): string =>
  path.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`
    return name === '' ? String(step) : `${name}.${String(step)}`
  }, '') || 'the value'
