import { z } from 'zod'
import { longestQuietMinutes, quietHoursGrammar, readQuietWindow } from './quiet-hours.ts'

/*
 * Types of settings' values. Each accepts the native form of a YAML file and the text of a variable. No message repeats
 * the value.
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

export const text = kind('text', message => z.string(quoted).trim().min(1, message))

/** Text without the newline at the end of a file. */
export const secretText = kind('text', () =>
  z
    .string(quoted)
    .overwrite(value => value.replace(/[\r\n]+$/, ''))
    .min(1, 'is empty')
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
        .refine(items => new Set(items).size === items.length, 'has the same value twice'),
    ),
  )
}

/** A map; in a variable, a JSON object. */
export function map<T extends z.ZodType>(value: T) {
  return kind(`a map (in a variable: a JSON object), each value ${descriptionOf(value)}`, () =>
    z.preprocess(
      given => (typeof given === 'string' ? parseJson(given) : given),
      z.record(z.string(), value, 'expected a map (in a variable: a JSON object)'),
    ),
  )
}

/** A URL without a trailing slash. Credentials have their own settings, which are masked. */
export const httpUrl = kind('an http or https address', message =>
  text
    .refine(value => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), message)
    .refine(
      value => !URL.parse(value)?.username && !URL.parse(value)?.password,
      'must not contain a user name or password',
    )
    .transform(value => value.replace(/\/+$/, '')),
)

/** A URL to which paths are appended, hence without a query. */
export const baseUrl = kind('an http or https address, without query and fragment', () =>
  httpUrl.refine(value => !/[?#]/.test(value), 'must have no query (?) and no fragment (#)'),
)

/** A topic name that Kafka accepts. */
export const topic = kind('a topic name: letters, digits, dot, dash, underscore', message =>
  text
    .regex(/^[A-Za-z0-9._-]{1,249}$/, `${message}, 249 of them at most`)
    .refine(value => value !== '.' && value !== '..', `${message}, but not . or .. alone`),
)

export const brokers = kind('addresses of the form host:port, or the word embedded', message => {
  const broker = z.string(message).regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):\d{1,5}$/, message)
  return z.union([z.literal('embedded'), list(broker.meta({ description: 'host:port' }))], message)
})

/** Keeps the text; `readQuietWindow` parses it. */
const quietWindow = kind(`quiet hours: ${quietHoursGrammar}`, message =>
  z.string(message).superRefine((value, { addIssue }) => {
    try {
      readQuietWindow(value)
    } catch (error) {
      addIssue((error as Error).message)
    }
  }),
)

export const quietHours = kind(descriptionOf(list(quietWindow)), () =>
  list(quietWindow).refine(windows => Number.isFinite(longestQuietMinutes(windows)), {
    error: 'leaves no time to send: name the days',
    when: ({ issues }) => issues.length === 0,
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

function parseJson(given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}
