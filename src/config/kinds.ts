import { z } from 'zod'
import { apiPath, apiPathPattern, endsWithApiPath } from '../protocol/envelope.ts'
import { countryCodes } from '../vocabulary/countries.ts'
import { baseAddress, hostAndPort, httpAddress } from './addresses.ts'
import { longestQuietMinutes, quietHoursGrammar, quietWindowPattern, readQuietWindow } from './quiet-hours.ts'
import { readSealingKeys } from './sealing-keys.ts'

/*
 * Types of settings' values. Each accepts the native form of a YAML file and the text of a variable. No message repeats
 * the value. The chart's schema has their native form (scripts/generate-values-schema.ts): say a rule as a bound, a pattern
 * that Go's RE2 reads, or in the metadata, if JSON Schema can say it.
 */

/** Longest timer of Node. */
const longestTimer = 2 ** 31 - 1

/**
 * A type of value with a description in its metadata, shown by `config explain`, docs/settings.md and the chart.
 * @param make receives the message for an invalid value
 */
function kind<T extends z.ZodType>(description: string, make: (message: string) => T): T {
  return make(`expected ${description}`).meta({ description })
}

export function descriptionOf(type: z.ZodType): string {
  const { description } = type.meta() ?? {}
  if (!description) throw new Error('a kind of setting without a description')
  return description
}

const quoted = 'expected text, in quotes if it looks like a number'

/** A letter, digit, punctuation mark or symbol. */
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

export const text = kind('text', message => z.string(quoted).trim().regex(visible, message))

/** Text without the byte order mark and the newline of a file. */
export const secretText = kind('text', () =>
  z
    .string(quoted)
    .overwrite(value => value.replace(/^\ufeff/, '').replace(/(?<![\r\n])[\r\n]+$/, ''))
    .min(1, 'is empty')
    .refine(value => !/[\0\ufffd]/.test(value), 'has bytes that are no text: save it as UTF-8, without anything else')
    .refine(value => value !== '***', 'is the mask that config print prints: give the secret itself'),
)

export const flag = kind('true or false', message =>
  z.preprocess(value => (value === 'true' ? true : value === 'false' ? false : value), z.boolean(message)),
)

export function integer(min: number, max: number) {
  return kind(`a whole number from ${min} to ${max}`, message =>
    z.preprocess(numberFromText, z.int(message).min(min, message).max(max, message)),
  )
}

export const port = integer(0, 65_535)
export const milliseconds = integer(0, longestTimer)
export const longMilliseconds = integer(1, 366 * 24 * 3_600_000)

export const aboveZero = kind('a number above 0', message =>
  z.preprocess(numberFromText, z.number(message).positive(message)),
)

export function choice<const T extends readonly string[]>(values: T) {
  return kind(`one of ${values.join(', ')}`, message => z.enum(values, message))
}

/** A list; in a variable, separated by commas or newlines. */
export function list<T extends z.ZodType>(item: T) {
  return kind(`a list, each ${descriptionOf(item)}`, () =>
    z.preprocess(
      value =>
        typeof value === 'string'
          ? value
              .split(/[,\n]/)
              .map(part => part.trim())
              .filter(Boolean)
          : value,
      z
        .array(item, 'expected a list')
        .min(1, 'expected at least one')
        .refine(items => new Set(items).size === items.length, 'has the same value twice')
        .meta({ uniqueItems: true }),
    ),
  )
}

/** A map; in a variable, a JSON object. */
export function map<T extends z.ZodType>(value: T) {
  return kind(`a map (in a variable: a JSON object), each value ${descriptionOf(value)}`, () =>
    z.preprocess(jsonFromText, z.record(z.string(), value, 'expected a map (in a variable: a JSON object)')),
  )
}

/** What RFC 7628 allows in the first message of OAUTHBEARER, where `auth` is the token. */
export const saslExtensions = kind('a map (in a variable: a JSON object) of letters to printable ASCII', message =>
  z.preprocess(
    jsonFromText,
    z.record(
      z
        .string()
        .regex(/^[A-Za-z]+$/, message)
        .refine(name => name !== 'auth', 'auth is the token')
        .meta({ not: { const: 'auth' } }),
      z.string(quoted).regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, message),
      message,
    ),
  ),
)

/** A URL in its normal form, without a trailing slash. Credentials have their own settings, which are masked. */
export const httpUrl = kind('an http or https address', () => url(httpAddress))

/** A URL to which paths are appended, hence without a query. */
export const baseUrl = kind('an http or https address, without query and fragment', () =>
  url(baseAddress, value => (/[?#]/.test(value) ? 'must have no query (?) and no fragment (#)' : null)),
)

/** @param also a further rule, which returns what is wrong */
function url(pattern: string, also: (value: string) => string | null = () => null) {
  const error = 'expected an http or https address'
  return z
    .string(quoted)
    .trim()
    .superRefine((value, context) => {
      const { username, password } = URL.parse(value) ?? {}
      const hasBlank = /[\s\p{C}]/u.test(value)
      const what = hasBlank
        ? 'must not contain blanks or invisible characters'
        : username || password
          ? 'must not contain a user name or password'
          : also(value)
      if (what !== null) context.addIssue({ code: 'custom', message: what, continue: false })
    })
    .regex(new RegExp(`^${pattern}$`), { error, abort: true })
    .refine(value => URL.canParse(value), error)
    .transform(value => new URL(value).href.replace(/(?<!\/)\/+$/, ''))
}

/** The gateway's base address, to which `apiPath` is appended. */
export const gatewayUrl = kind(descriptionOf(baseUrl), () =>
  baseUrl
    .refine(value => !endsWithApiPath(value), `must not end with ${apiPath}, which busgate appends: leave it out`)
    .meta({ not: { pattern: apiPathPattern } }),
)

/** A topic name that Kafka accepts. */
export const topic = kind('a topic name: letters, digits, dot, dash, underscore', message =>
  z
    .string(quoted)
    .trim()
    .max(249, `${message}, 249 of them at most`)
    .regex(/^(\.{3}|\.{0,2}[A-Za-z0-9_-])[A-Za-z0-9._-]*$/, `${message}, but not . or .. alone`),
)

export const brokers = kind('addresses of the form host:port, or the word embedded', message => {
  const broker = z.string(message).regex(new RegExp(`^${hostAndPort}$`), message)
  return z.union([z.literal('embedded'), list(broker.meta({ description: 'host:port' }))], message)
})

/** Keeps the text; `readQuietWindow` parses it. */
const quietWindow = kind(`quiet hours: ${quietHoursGrammar}`, message =>
  z
    .string(message)
    .superRefine((value, { addIssue }) => {
      try {
        readQuietWindow(value)
      } catch (error) {
        addIssue((error as Error).message)
      }
    })
    .meta({ pattern: quietWindowPattern }),
)

export const quietHours = kind(descriptionOf(list(quietWindow)), () =>
  list(quietWindow).refine(windows => Number.isFinite(longestQuietMinutes(windows)), {
    error: 'leaves no time to send: name the days',
    when: ({ issues }) => issues.length === 0,
  }),
)

const country = kind('a country: two capital letters of ISO 3166, such as UA or GB (not UK)', message =>
  z
    .string(`${message}, in quotes if YAML reads it as something else, such as "NO"`)
    .trim()
    .regex(new RegExp(`^(?:${countryCodes.join('|')})$`), message),
)

export const countries = list(country)

/** The name of an account, as `isAccountName` has it. */
export const account = kind('the name of an account: lower-case letters and digits', message =>
  z
    .string(quoted)
    .trim()
    .regex(/^[a-z0-9]+$/, message),
)

/** The private keys of a worker. */
export const sealingKeys = kind('a JWK Set of private keys (RFC 7517), in JSON', () =>
  secretText.transform((text, { addIssue }) => {
    try {
      return readSealingKeys(jsonFromText(text), 'open')
    } catch (error) {
      addIssue((error as Error).message)
      return z.NEVER
    }
  }),
)

export interface SigningKey {
  kid: string
  secret: string
}

const signingKeyText = 'kid:secret, the kid of 1 to 8 letters, digits, - or _, the secret of at least 16 characters'
const signingKeyEntry = kind(signingKeyText, message => secretText.regex(/^[A-Za-z0-9_-]{1,8}:.{16,}$/, message))

/** The first key signs, all verify. */
export const signingKeys = kind(`a list, each ${signingKeyText}`, () =>
  list(signingKeyEntry)
    .transform(entries => entries.map(signingKey))
    .refine(keys => new Set(keys.map(key => key.kid)).size === keys.length, 'has the same kid twice'),
)

function signingKey(entry: string): SigningKey {
  const colon = entry.indexOf(':')
  return { kid: entry.slice(0, colon), secret: entry.slice(colon + 1) }
}

function numberFromText(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : value
}

function jsonFromText(given: unknown): unknown {
  if (typeof given !== 'string') return given
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}
