import { latestTime } from '../bus/record-time.ts'
import { nearest } from '../config/names.ts'
import { isPhone } from '../protocol/fields.ts'
import { isMessageId } from '../protocol/ids.ts'
import { isSendType, operations, policies, type SendType, sendTypes } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import { hasCallingCode } from './country.ts'
import { extraComplaint } from './extra.ts'
import { type AvroRecord, type AvroType, schemas } from './schemas.ts'

/** A field of a new command: its values, and how a complaint describes them. */
interface Field {
  fits: (value: unknown) => boolean
  expected: string
}

export const deliveries = ['DEFAULT', ...policies] as const

/** What an id must be, in the words of JavaScript and JSON. */
const idExpected =
  'a whole number from 1 to 2^63-1; write ids above 2^53 as a bigint (17n), and no id as text, with an exponent or a point'

/** A time in seconds that is read as milliseconds lies before it. */
const earliestTime = Date.UTC(2001, 0)

const isTime = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= earliestTime && (value as number) <= latestTime

/** What is wrong with an id that a program passes; null if nothing is. */
export const problemOfId = (id: unknown): string | null => (isMessageId(id) ? null : `id must be ${idExpected}`)

const text: Field = { fits: value => typeof value === 'string', expected: 'text' }
const textOrNull: Field = { fits: value => value === null || typeof value === 'string', expected: 'text or null' }

const fields: ReadonlyMap<string, Field> = new Map(
  Object.entries({
    id: { fits: isMessageId, expected: idExpected },
    phone: {
      fits: value => isPhone(value) && hasCallingCode(value),
      expected:
        'a number: digits only, in international format such as 380501234567, with a country code, 7 to 15 digits, without exponent or point',
    },
    type: { fits: value => typeof value === 'string' && isSendType(value), expected: `one of ${sendTypes.join(', ')}` },
    message: { fits: isObject, expected: 'an object' },
    urgent: { fits: value => typeof value === 'boolean', expected: 'true or false' },
    account: text,
    deadline: {
      fits: value => value === null || isTime(value),
      expected:
        'a whole number of milliseconds since 1970 (of a Date: getTime(); not seconds, not microseconds), from the year 2001 to 9999, or null',
    },
    delivery: { fits: value => deliveries.some(one => one === value), expected: `one of ${deliveries.join(', ')}` },
    hook: textOrNull,
    correlationId: textOrNull,
    tenant: textOrNull,
    campaign: textOrNull,
    extra: { fits: isObject, expected: 'an object' },
  } satisfies Record<string, Field>),
)
const required = ['id', 'phone', 'type', 'message'] as const

type Fields = Readonly<Record<string, unknown>>

/**
 * Checks what a producer's program can get wrong although its types do not: kinds of values, and names that Avro would drop
 * silently. `readCommand` then validates the message.
 * @returns the first problem, which names the field but not its content; null if there is none
 */
export function problemOfNew(command: unknown): string | null {
  if (!isObject(command)) return 'a command must be an object'
  for (const name of required)
    if (command[name] === undefined) return `${name} is required and must be ${expected(name)}`
  for (const name in command) {
    const value = command[name]
    const field = fields.get(name)
    if (field === undefined) return `a command has no ${name}; the nearest is ${nearest(name, [...fields.keys()])}`
    if (value !== undefined && !field.fits(value)) return `${name} must be ${expected(name)}`
  }
  return problemOfExtra(command.extra as Fields | undefined) ?? problemOfMessage(command)
}

const expected = (name: string) =>
  `${fields.get(name)!.expected}${name === 'type' ? '; use pipeline for whatsapp' : ''}`

function problemOfExtra(extra: Fields = {}): string | null {
  for (const name in extra) if (typeof extra[name] !== 'string') return `extra.${name} ${extraComplaint}`
  return null
}

function problemOfMessage(command: Fields): string | null {
  const { type, message } = command as { type: SendType; message: Fields }
  const unknown = unknownIn(message, recordOf(type), `message: ${type}`)
  if (unknown === null) {
    // not validated with the other fields, because the gateway does not get it
    return textOrNull.fits(message.comment ?? null) ? null : `comment must be ${textOrNull.expected}`
  }
  const tag = Object.keys(message).find(name => name.startsWith('io.busgate.'))
  return tag ? `message must be the fields of ${type}: leave the tag ${tag} out here` : unknown
}

const recordsByType = new Map<SendType, AvroRecord>()

function recordOf(type: SendType): AvroRecord {
  const known = recordsByType.get(type)
  if (known) return known
  const union = schemas.command.fields.find(({ name }) => name === 'message')!.type as AvroRecord[]
  const record = union.find(({ name }) => name === operations[type].record)!
  recordsByType.set(type, record)
  return record
}

/** @param name of the message or of an object in it @returns the complaint about its first unknown field, or null */
function unknownIn(value: Fields, record: AvroRecord, name: string): string | null {
  const parts = partsOf(record)
  for (const key in value) {
    const inner = parts.get(key)
    if (inner === undefined) {
      return `${name} has no ${key}; the nearest is ${nearest(key, [...parts.keys()])}, and extra takes any other`
    }
    if (inner === null) continue
    const part = value[key]
    for (const one of Array.isArray(part) ? part : [part]) {
      const unknown = isObject(one) ? unknownIn(one, inner, `${name}.${key}`) : null
      if (unknown) return unknown
    }
  }
  return null
}

type Parts = ReadonlyMap<string, AvroRecord | null>

const partsByRecord = new WeakMap<AvroRecord, Parts>()

/** The fields of a record; each with its record type or that of its items, or with null. */
function partsOf(record: AvroRecord): Parts {
  const known = partsByRecord.get(record)
  if (known) return known
  const parts = new Map(record.fields.map(({ name, type }) => [name, recordIn(type)]))
  partsByRecord.set(record, parts)
  return parts
}

function recordIn(type: AvroType): AvroRecord | null {
  if (Array.isArray(type)) return type.map(recordIn).find(record => record !== null) ?? null
  if (typeof type === 'string') return null
  return type.type === 'record' ? type : type.type === 'array' ? recordIn(type.items) : null
}
