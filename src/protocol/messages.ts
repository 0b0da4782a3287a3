import type { z } from 'zod'

type Issue = Pick<z.core.$ZodRawIssue, 'path' | 'input'>

/**
 * The wording of every refusal in this room: names the field and says what is allowed, never what was given, because
 * the value may be a phone number or a message's text.
 */
export const must = (allowed: string) => (issue: Issue) =>
  `${fieldName(issue.path)} ${issue.input === undefined ? 'is required and must be' : 'must be'} ${allowed}`

/** Such as `viber_carousel[1].caption`. */
export const fieldName = (path: PropertyKey[] = []): string =>
  path.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`
    return name === '' ? String(step) : `${name}.${String(step)}`
  }, '') || 'the value'
