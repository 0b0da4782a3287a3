import avro, { type Schema, type Type } from 'avsc'
import { memoized } from '../memoized.ts'
import { isId } from './schemas.ts'

const largestLong = 2n ** 63n - 1n
const smallestLong = -(2n ** 63n)

/** A long as a bigint. avsc's own type refuses longs beyond a number's precision. */
const bigintLong = avro.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(0),
  toBuffer: eightBytes,
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint' && value >= smallestLong && value <= largestLong,
  compare: notCompared,
})

/** A long as a number, rounded beyond 2^53. avsc's own type refuses the whole record. */
const numberLong = avro.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => Number(buffer.readBigInt64LE(0)),
  toBuffer: (value: number) => eightBytes(BigInt(value)),
  fromJSON: Number,
  toJSON: Number,
  isValid: Number.isSafeInteger,
  compare: notCompared,
})

/** avsc demands a comparison. */
function notCompared(): never {
  throw new Error('busgate does not compare records')
}

function eightBytes(value: bigint): Buffer {
  const buffer = Buffer.allocUnsafe(8)
  buffer.writeBigInt64LE(value)
  return buffer
}

/**
 * Replaces lone surrogates, which JSON allows, by U+FFFD. avsc would write the surrogate, and readers in Python and Go refuse the
 * record.
 */
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name.toWellFormed(), wellFormed(part)]))
}

/** Encodes an id. */
export const idBytes = (id: bigint): Buffer => bigintLong.toBuffer(id)

interface RecordSchema {
  fields?: { name: string; type: unknown }[]
}

/**
 * The type of a record on the bus: `id` is a bigint, any other long a number; a union of records is an object with one key, the
 * record's full name.
 * @throws Error when the schema is not Avro
 */
export const avroTypeOf = memoized((schema: object) => compile(withBigintId(schema)), new WeakMap<object, Type>())

function compile(schema: object): Type {
  return avro.Type.forSchema(schema as Schema, {
    omitRecordMethods: true,
    typeHook(part) {
      const { type = part, bigint } = part as { type?: unknown; bigint?: true }
      if (bigint) return bigintLong
      return type === 'long' ? numberLong : undefined
    },
  })
}

function withBigintId(schema: RecordSchema): object {
  if (!Array.isArray(schema.fields)) return schema
  const fields = schema.fields.map(field => (isId(field) ? { ...field, type: { type: 'long', bigint: true } } : field))
  return { ...schema, fields }
}
