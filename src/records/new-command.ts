import { memoized } from '../memoized.ts'
import { nearestOr } from '../nearest.ts'
import { isPhone } from '../protocol/fields.ts'
import { isMessageId } from '../protocol/ids.ts'
import { isSendType, operations, type SendType, sendTypes } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import { timeExpected, timeOf } from '../time.ts'
import { policies } from '../vocabulary/lists.ts'
import { hasCallingCode } from './country.ts'
import { extraComplaint } from './extra.ts'
import { type AvroRecord, type AvroType, schemas } from './schemas.ts'

/** What is wrong with a field of a command. */
export interface FieldProblem {
  /**
   * Its name, such as `phone`, or in the message `sms_message` or `viber_carousel[1].caption`; empty for the command as a whole.
   */
  field: string
  /** What it must be, without its content. The field's name and this make a sentence. */
  expected: string
}

export const sentenceOf = ({ field, expected }: FieldProblem): string =>
  field === '' ? expected : `${field} ${expected}`

/** A field of a new command: its values, and how a complaint describes them. */
interface Field {
  fits: (value: unknown) => boolean
  expected: string
}

export const deliveries = ['DEFAULT', ...policies] as const

/** What an id must be, in the words of JavaScript and JSON. */
const idExpected =
  'a whole number from 1 to 2^63-1; write ids above 2^53 as a bigint (17n), and no id as text, with an exponent or a point'

/** Ten years. */
const furthestMs = 10 * 365.25 * 24 * 3600 * 1000

/** Whether it is a time to come. */
function isToCome(value: unknown): boolean {
  const [time, now] = [timeOf(value) ?? 0, Date.now()]
  return time > now && time < now + furthestMs
}

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
    lane: {
      fits: value => typeof value === 'string' || Number.isInteger(value),
      expected: 'the name of a command topic, or its place in topics.commands',
    },
    account: text,
    deadline: {
      fits: value => value === null || isToCome(value),
      expected: `${timeExpected}, in the future, at most ten years ahead, or null`,
    },
    notBefore: {
      fits: value => value === null || timeOf(value) !== null,
      expected: `${timeExpected}, or null`,
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

/** The first of `problemsOfNew` as a sentence; null if there is none. */
export function problemOfNew(command: unknown): string | null {
  const [first] = problemsOfNew(command)
  return first ? sentenceOf(first) : null
}

/**
 * Checks what a producer's program can get wrong although its types do not: kinds of values, and names that Avro would drop
 * silently. `readCommand` then validates the message.
 * @param topics of commands, for the lane; default: any lane is right
 * @returns all problems; none holds content of the command
 */
export function problemsOfNew(command: unknown, topics?: readonly string[]): FieldProblem[] {
  if (!isObject(command)) return [{ field: '', expected: 'a command must be an object' }]
  const missing = required.filter(name => command[name] === undefined)
  const problems = missing.map(field => ({
    field: field as string,
    expected: `is required and must be ${expected(field)}`,
  }))
  for (const name in command) {
    const value = command[name]
    const field = fields.get(name)
    if (field === undefined) {
      problems.push({
        field: name,
        expected: `is no field of a command; ${nearestField(name, fields)}`,
      })
    } else if (value !== undefined && !field.fits(value))
      problems.push({ field: name, expected: `must be ${expected(name)}` })
  }
  if (problems.length > 0) return problems
  const extra = problemsOfExtra(command.extra as Fields | undefined)
  return [...problemsOfLane(command.lane, topics), ...extra, ...problemsOfMessage(command)]
}

function problemsOfLane(lane: unknown, topics: readonly string[] | undefined): FieldProblem[] {
  const names: readonly unknown[] = topics ?? [lane]
  const isOne = typeof lane === 'number' ? names[lane] !== undefined : names.includes(lane)
  if (lane === undefined || topics === undefined || isOne) return []
  return [{ field: 'lane', expected: `must be ${topics.map((topic, i) => `${i} or ${topic}`).join(', ')}` }]
}

const nearestField = (name: string, known: ReadonlyMap<string, unknown>) =>
  nearestOr(name, [...known.keys()], `its fields are ${[...known.keys()].join(', ')}`)

const expected = (name: string) =>
  `${fields.get(name)!.expected}${name === 'type' ? '; use pipeline for whatsapp' : ''}`

function problemsOfExtra(extra: Fields = {}): FieldProblem[] {
  const wrong = Object.keys(extra).filter(name => typeof extra[name] !== 'string')
  return wrong.map(name => ({ field: `extra.${name}`, expected: extraComplaint }))
}

function problemsOfMessage(command: Fields): FieldProblem[] {
  const { type, message } = command as { type: SendType; message: Fields }
  const tag = Object.keys(message).find(name => name.startsWith('io.busgate.'))
  if (tag) return [{ field: 'message', expected: `must be the fields of ${type}: leave the tag ${tag} out here` }]
  // not validated with the other fields, because the gateway does not get it
  const isComment = textOrNull.fits(message.comment ?? null)
  const comment = isComment ? [] : [{ field: 'comment', expected: `must be ${textOrNull.expected}` }]
  return [...unknownIn(message, contentRecordOf(type), { field: '', of: type }), ...comment]
}

/** The record of the union for messages of the type. */
export const contentRecordOf = memoized((type: SendType): AvroRecord => {
  const union = schemas.command.fields.find(({ name }) => name === 'message')!.type as AvroRecord[]
  return union.find(({ name }) => name === operations[type].record)!
})

/** @param place the path of an object in the command, and what it belongs to @returns problems with its unknown fields */
function unknownIn(value: Fields, record: AvroRecord, place: { field: string; of: string }): FieldProblem[] {
  const parts = partsOf(record)
  return Object.entries(value).flatMap(([key, part]) => {
    const field = place.field === '' ? key : `${place.field}.${key}`
    const inner = parts.get(key)
    if (inner === undefined) {
      const hint = `${nearestField(key, parts)}, and extra takes any other`
      return [{ field, expected: `is no field of ${place.of}; ${hint}` }]
    }
    if (inner === null) return []
    const of = `${place.of}'s ${key}`
    if (!Array.isArray(part)) return isObject(part) ? unknownIn(part, inner, { field, of }) : []
    return part.flatMap((one, i) => (isObject(one) ? unknownIn(one, inner, { field: `${field}[${i}]`, of }) : []))
  })
}

type Parts = ReadonlyMap<string, AvroRecord | null>

/** The fields of a record; each with its record type or that of its items, or with null. */
const partsOf = memoized(
  ({ fields }: AvroRecord): Parts => new Map(fields.map(({ name, type }) => [name, recordIn(type)])),
  new WeakMap<AvroRecord, Parts>(),
)

function recordIn(type: AvroType): AvroRecord | null {
  if (Array.isArray(type)) return type.map(recordIn).find(record => record !== null) ?? null
  if (typeof type === 'string') return null
  return type.type === 'record' ? type : type.type === 'array' ? recordIn(type.items) : null
}
