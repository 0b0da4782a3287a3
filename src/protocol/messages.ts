import type { z } from 'zod'

/** Meta is what the metadata of a schema tells help texts and docstrings. */
interface Meta {
  /** What the value is for. */
  description?: string
  /** What it must be, as its refusals word it. */
  expects?: string
}

type Issue = Pick<z.core.$ZodRawIssue, 'path' | 'input'>

/**
 * The wording of every refusal in this room: names the field and says what is allowed, never what was given, because
 * the value may be a phone number or a message's text.
 */
export const must = (allowed: string) => (issue: Issue) =>
  `${fieldName(issue.path)} ${issue.input === undefined ? 'is required and must be' : 'must be'} ${allowed}`

/**
 * A schema whose refusals say what is expected, and whose metadata says it to help texts. @param make is given the
 * wording
 */
export const expecting = <T extends z.ZodType>(expects: string, make: (error: ReturnType<typeof must>) => T): T =>
  make(must(expects)).meta({ expects })

/** Describes a field for help texts and docstrings: its purpose, and limits that its type does not show. */
export function meaningOf(field: z.ZodType): string {
  const { description = '', expects = '' } = metaOf(field)
  const isPlain = ['', 'text', 'an object', 'true or false'].includes(expects)
  return isPlain ? description : `${description} It is ${expects}.`
}

/** The metadata of a field that may be left out is inside. */
const metaOf = (field: z.ZodType): Meta =>
  (field.meta() as Meta | undefined) ??
  (field.def.type === 'optional' ? metaOf((field as z.ZodOptional<z.ZodType>).unwrap()) : {})

/** The name of a field, such as `viber_carousel[1].caption`. */
export const fieldName = (path: PropertyKey[] = []): string =>
  path.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`
    return name === '' ? String(step) : `${name}.${String(step)}`
  }, '') || 'the value'
