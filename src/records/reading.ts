import type { Resolver, Type, types } from 'avsc'
import { pathToText } from '../protocol/json.ts'
import { avroTypeOf, lenientTypeOf, refuseOtherUnits } from './avro.ts'
import { isComplex, mapParts, namesOf, oneLevelDeeper, SchemaUnreadable } from './schema-parts.ts'
import { schemas } from './schemas.ts'
import { shapeOf, Walk } from './walk.ts'

/** Limits of a writer's schema. Compiling a schema of this size takes some 50 ms; the published ones have a tenth of it. */
const mostNamedTypes = 250
const mostParts = 2_500
/** Cut, since avsc's messages may contain the whole schema. */
const longestReason = 300

/** Commands come from any producer. These values take some 20 ms to read and validate. */
const mostOfCommand = 1 << 14
/** busgate writes all other records. A doubt has four values for each header of its command. */
const mostOfOthers = 1 << 20

export type RecordReading = ReturnType<typeof readingOf>

/**
 * How to read the records of one writer's schema.
 * @throws SchemaUnreadable when the schema is incompatible or exceeds a limit
 */
export function readingOf(readerSchema: object, writerSchema: object, schemaId: number) {
  const reader = avroTypeOf(readerSchema)
  try {
    const canonical = canonicalFormOf(writerSchema) as object
    const writer = avroTypeOf(canonical)
    const shape = shapeOf(writer)
    refuseOtherUnits(readerSchema, writerSchema)
    const mostValues = readerSchema === schemas.command ? mostOfCommand : mostOfOthers
    return { shape, mostValues, ...resolvingOf(readerSchema, canonical, writer) }
  } catch (error) {
    const reason = (error as Error).message.slice(0, longestReason)
    if (error instanceof OtherRecord)
      throw new SchemaUnreadable(`Schema ${schemaId} ${reason}: write with the published schema.`)
    throw new SchemaUnreadable(
      `Schema ${schemaId} cannot be read as ${reader.name}: ${reason}. Write with the published schema, or upgrade busgate first.`,
    )
  }
}

/**
 * The part of a schema that determines the bytes: names, types, symbols and sizes. A writer's defaults do not matter to
 * readers, and avsc encodes each one, however large.
 * @throws SchemaUnreadable
 */
function canonicalFormOf(schema: unknown): unknown {
  const counts = { parts: 0, names: 0 }
  const visit = (part: unknown, level: number): unknown => {
    if (++counts.parts > mostParts) throw new SchemaUnreadable(`it has more than ${mostParts} parts`)
    if (!isComplex(part)) return part
    const inner = oneLevelDeeper(level)
    const change = (one: unknown) => visit(one, inner)
    if (Array.isArray(part)) return part.map(change)
    const { type, name, namespace, fields, items, values, symbols, size } = part
    if (isComplex(type)) return change(type)
    if (name !== undefined && ++counts.names > mostNamedTypes) {
      throw new SchemaUnreadable(`it has more than ${mostNamedTypes} named types`)
    }
    const canonical = { type, name, namespace, fields: fields && namesAndTypes(fields), items, values, symbols, size }
    return mapParts(Object.fromEntries(Object.entries(canonical).filter(([, value]) => value !== undefined)), change)
  }
  return visit(schema, 0)
}

const namesAndTypes = (fields: unknown) =>
  Array.isArray(fields)
    ? fields.map(field => (isComplex(field) ? { name: field.name, type: field.type } : field))
    : fields

/**
 * The reader's type or a lenient version of it, with its resolver; null if the writer's type equals the reader's. Avro resolves
 * values as well as schemas: a union may have branches that the reader does not know, as long as no record uses them. A
 * writer's record of another name is incompatible.
 */
function resolvingOf(
  readerSchema: object,
  writerSchema: object,
  writer: Type,
): { type: Type; resolver: Resolver | null } {
  const reader = avroTypeOf(readerSchema)
  if (reader.equals(writer)) return { type: reader, resolver: null }
  try {
    return { type: reader, resolver: reader.createResolver(writer, byName()) }
  } catch (error) {
    const name = unqualified(reader.name!)
    const written = branchesOf(writer).map(branch => unqualified(branch.name ?? branch.typeName))
    if (!written.includes(name)) throw new OtherRecord(`is of type ${written.join(' or ')}, not ${name}`)
    const lenient = lenientTypeOf(readerSchema, unknownRecordsIn(readerSchema, writerSchema))
    try {
      return { type: lenient, resolver: lenient.createResolver(writer, byName()) }
    } catch {
      throw error
    }
  }
}

/** The writer's schema has no record of the reader's name. */
class OtherRecord extends Error {
  override readonly name = 'OtherRecord'
}

const branchesOf = (type: Type): readonly Type[] =>
  type.typeName.startsWith('union:') ? (type as types.UnwrappedUnionType).types : [type]

/** A new object for each call, since avsc stores resolved types in the options. */
const byName = () => ({ ignoreNamespaces: true })

/** Full names of the writer's records that the reader does not know. */
function unknownRecordsIn(readerSchema: object, writerSchema: object): string[] {
  const known = new Set(recordsIn(readerSchema).map(unqualified))
  return recordsIn(writerSchema).filter(name => !known.has(unqualified(name)))
}

function recordsIn(schema: unknown, outer = ''): string[] {
  if (!isComplex(schema)) return []
  const { namespace, name } = namesOf(schema, outer)
  const found = name !== null && 'fields' in schema ? [name] : []
  mapParts(schema, part => found.push(...recordsIn(part, namespace)))
  return found
}

const unqualified = (name: string) => name.slice(name.lastIndexOf('.') + 1)

/**
 * Reads the record that begins at `start`. `flaw` names a string that is not UTF-8, or a map key that would be lost; null if
 * there is none.
 * @throws Truncated; SchemaUnreadable when it uses a branch that the reader does not know; Error
 */
export function readRecord(reader: Type, reading: RecordReading, bytes: Buffer, start: number) {
  const { shape, type, resolver, mostValues } = reading
  const { position: end, isUtf8, hasProtoKey } = new Walk(shape, bytes, start, mostValues)
  const { value } = type.decode(bytes, start, resolver ?? undefined)
  const record = type === reader ? value : requireReaderType(reader, type, value)
  const flaw = isUtf8 ? null : flawIn(record)
  return { value: record, flaw: hasProtoKey ? 'a map must not have the key __proto__' : flaw, end }
}

/** Checks that a leniently read value is a record of the reader's type. */
function requireReaderType(reader: Type, { typeName }: Type, value: unknown): unknown {
  const [name, record] = typeName === 'union:wrapped' && isComplex(value) ? Object.entries(value)[0]! : ['', value]
  if (isComplex(record) && name !== '' && name !== reader.name) throw new SchemaUnreadable(`it is a ${name}`)
  reader.isValid(record, {
    errorHook(path, part) {
      const place = path.join('.') || 'it'
      if (part === null) throw new Error(`${place} is null`)
      throw new SchemaUnreadable(`${place} is ${isComplex(part) ? Object.keys(part).join(', ') : 'of another type'}`)
    },
  })
  return record
}

/** Decoding replaces invalid UTF-8 by this character. */
const replacement = '\ufffd'

/** Null if the faulty string is in a field that the reader ignores. */
function flawIn(record: unknown): string | null {
  const path = pathToText(record, text => text.includes(replacement))
  return path && `${fieldOf(path)} is not UTF-8`
}

/** The name of a command's field. Fields of the message omit `message` and its record name. */
export const fieldOf = (path: readonly string[]) => path.slice(path[0] === 'message' ? 2 : 0).join('.')
