import { isIP } from 'node:net'
import { z } from 'zod'

/*
 * The kinds of values that settings have. Each takes the native form of a YAML file and the text of a variable alike,
 * and no message of theirs repeats the value.
 */

/** The longest time that a timer of Node can wait. */
const longestTimer = 2 ** 31 - 1

export const text = z.string('expected text, in quotes if it looks like a number').trim().min(1, 'expected text')

/** Text whose only tolerated slip is the newline at the end of a file. */
export const secretText = z
  .string('expected text, in quotes if it looks like a number')
  .overwrite(value => value.replace(/[\r\n]+$/, ''))
  .min(1, 'is empty')

export const flag = z.preprocess(
  value => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean('expected true or false'),
)

export function integer(min: number, max: number) {
  const message = `expected a whole number from ${min} to ${max}`
  return z.preprocess(numberFromText, z.int(message).min(min, message).max(max, message))
}

export const port = integer(0, 65_535)
export const milliseconds = integer(0, longestTimer)
export const longMilliseconds = integer(1, 366 * 24 * 3_600_000)

export const aboveZero = z.preprocess(
  numberFromText,
  z.number('expected a number above 0').positive('expected a number above 0'),
)

const shareMessage = 'expected a number above 0 and at most 1'
export const share = z.preprocess(numberFromText, z.number(shareMessage).gt(0, shareMessage).max(1, shareMessage))

/** An IP address, or a range of them such as 10.0.0.0/8. */
export const addressRange = text.refine(value => {
  const [address = '', bits = '0', ...more] = value.split('/')
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most
}, 'expected an IP address, or a range such as 10.0.0.0/8')

export function choice<const T extends readonly string[]>(values: T) {
  return z.enum(values, `expected one of ${values.join(', ')}`)
}

/** In a variable: separated by commas or lines. */
export function list<T extends z.ZodType>(item: T) {
  return z.preprocess(
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
      .refine(items => new Set(items).size === items.length, 'holds the same value twice'),
  )
}

/** In a variable: a JSON object. */
export function map<T extends z.ZodType>(value: T) {
  return z.preprocess(
    given => (typeof given === 'string' ? parseJson(given) : given),
    z.record(z.string(), value, 'expected a map (in a variable: a JSON object)'),
  )
}

/** An address without a slash at its end. Credentials have settings of their own, which are masked. */
export const httpUrl = text
  .refine(value => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'expected an http or https address')
  .refine(value => !URL.parse(value)?.username && !URL.parse(value)?.password, 'must hold no user name and no password')
  .transform(value => value.replace(/\/+$/, ''))

/** An address that paths are appended to: a query would swallow them. */
export const baseUrl = httpUrl.refine(value => !/[?#]/.test(value), 'must have no query (?) and no fragment (#)')

const topicMessage = 'expected a topic name: letters, digits, dot, dash, underscore'
/** What Kafka takes. */
export const topic = text
  .regex(/^[A-Za-z0-9._-]{1,249}$/, `${topicMessage}, 249 of them at most`)
  .refine(value => value !== '.' && value !== '..', `${topicMessage}, but not . or .. alone`)

const brokersMessage = 'expected addresses of the form host:port, or the word embedded'
const broker = z.string(brokersMessage).regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):\d{1,5}$/, brokersMessage)
export const brokers = z.union([z.literal('embedded'), list(broker)], brokersMessage)

export interface SigningKey {
  kid: string
  secret: string
}

/** The first key signs, all verify. */
export const signingKeys = list(
  secretText.regex(
    /^[A-Za-z0-9_-]{1,8}:.{16,}$/,
    'expected kid:secret, the kid of 1 to 8 letters, digits, - or _, the secret of at least 16 characters',
  ),
)
  .transform(entries => entries.map(signingKey))
  .refine(keys => new Set(keys.map(key => key.kid)).size === keys.length, 'holds the same kid twice')

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
