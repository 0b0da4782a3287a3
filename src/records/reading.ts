import type { Buffer } from 'node:buffer'
import { memoized } from '../memoized.ts'
import { pathToText } from '../protocol/json.ts'
import { Cursor } from './cursor.ts'
import { SchemaUnreadable } from './errors.ts'
import { fits, Mismatch, planOf } from './resolution.ts'
import { type AvroRecord, isId, schemas } from './schemas.ts'
import { type Shape, shapeOf } from './shape.ts'
import { ValueReader } from './value-reader.ts'

/** Cut, since names in a foreign schema have any length. */
const longestReason = 300

/** Values of a record. A doubt has four for each of its command's headers, of which there are at most 10,000. */
const mostOfDoubt = 1 << 16
const mostOfOthers = 1 << 14

/** The shapes of a writer's schema and of the reader's. */
export interface RecordReading {
  written: Shape
  wanted: Shape
  mostValues: number
  /** The most memory that the writer's shape takes. */
  bytes: number
}

/**
 * How to read the records of one writer's schema.
 * @throws SchemaUnreadable, and nothing else, when no record can be read or the schema exceeds a limit
 */
export function readingOf(readerSchema: object, writerSchema: object, schemaId: number): RecordReading {
  const wanted = wantedShapeOf(readerSchema)
  try {
    const { shape: written, bytes } = shapeOf(writerSchema, 'written')
    requireRecord(written, wanted)
    return { written, wanted, mostValues: readerSchema === schemas.doubt ? mostOfDoubt : mostOfOthers, bytes }
  } catch (error) {
    const text = `Schema ${schemaId} cannot be read as ${wanted.name}: ${reasonOf(error as Error)}`
    throw new SchemaUnreadable(`${text}. Write with the published schema.`)
  }
}

export const reasonOf = (error: Error): string =>
  (error instanceof Mismatch ? error.complaint : error.message).slice(0, longestReason)

/** The reader's shape. The id of the outermost record is a bigint, any other long a number. */
const wantedShapeOf = memoized((schema: object): Shape => {
  const { shape } = shapeOf(schema, 'wanted')
  const { fields = [] } = schema as Partial<AvroRecord>
  fields.forEach((field, i) => {
    if (isId(field)) shape.parts[i] = { ...shape.parts[i]!, kind: 'bigint', name: 'bigint' }
  })
  return shape
}, new WeakMap<object, Shape>())

/** @throws Mismatch when the schema has no such record, or its record lacks a field */
function requireRecord(written: Shape, wanted: Shape): void {
  const branches = written.kind === 'union' ? written.parts : [written]
  const own = branches.filter(branch => fits(branch, wanted))
  if (own.length === 0) throw new Mismatch(`is ${branches.map(({ name }) => name).join(' or ')}`)
  if (own.length === 1) planOf(own[0]!, wanted)
}

/**
 * Reads the record that begins at `start`. `flaw` names a text that is not UTF-8; null if there is none.
 * @throws Truncated; SchemaUnreadable when the reader does not know one of its types; Error
 */
export function readRecord({ written, wanted, mostValues }: RecordReading, bytes: Buffer, start: number) {
  const cursor = new Cursor(bytes, start)
  try {
    const value = new ValueReader(cursor, mostValues).read(written, wanted)
    return { value, flaw: flawIn(value, cursor.invalidText), end: cursor.position }
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    const reason = reasonOf(error)
    if (error.lacks === 'value') throw new Error(reason)
    const upgrade = error.lacks === 'field' ? '' : ', or upgrade busgate if a newer version can read it'
    throw new SchemaUnreadable(`${reason}. Write with the published schema${upgrade}`)
  }
}

function flawIn(record: unknown, invalid: string | null): string | null {
  const path = invalid === null ? null : pathToText(record, text => text === invalid)
  return path && `${fieldOf(path)} is not UTF-8`
}

/** The name of a command's field. Fields of the message omit `message` and its record name. */
export const fieldOf = (path: readonly string[]) => path.slice(path[0] === 'message' ? 2 : 0).join('.')
