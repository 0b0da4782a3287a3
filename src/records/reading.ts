import type { Resolver, Type } from 'avsc'
import { pathToText } from '../protocol/json.ts'
import { avroTypeOf, lenientTypeOf, refuseOtherUnits } from './avro.ts'
import { isComplex, mapParts, namesOf, oneLevelDeeper, SchemaUnreadable } from './schema-parts.ts'
import { schemas } from './schemas.ts'
import { type ByteShape, expandedSize, shapeOf, Walk } from './walk.ts'

/** Bounds of a writer's schema. Compiling one as large takes some 50 ms; the published ones have a tenth of this. */
const mostNamedTypes = 250
const mostFields = 2_000
const mostParts = 10_000
/** Values without a count or a choice before them. */
const mostExpanded = 10_000
/** avsc's own messages may hold the whole schema. */
const longestReason = 300

/** RecordReading says how the records of one writer are read. */
export interface RecordReading {
  /** Of the writer. */
  shape: ByteShape
  /** The type to read as: that of the reader, or a lenient one. */
  type: Type
  /** null: the writer's type is the reader's. */
  resolver: Resolver | null
  /** Of one record. */
  mostValues: number
}

/** Anybody writes commands: this many values take some 20 ms to read and check, and no list of theirs has 1,000 items. */
const mostOfCommand = 1 << 14
/** All else is written by busgate. A doubt has four for each header of its command. */
const mostOfOthers = 1 << 20

/** @throws SchemaUnreadable when the reader cannot read such records, or when it will not */
export function readingOf(readerSchema: object, writerSchema: object, schemaId: number): RecordReading {
  const reader = avroTypeOf(readerSchema)
  try {
    const essence = essenceOf(writerSchema) as object
    const writer = avroTypeOf(essence)
    const shape = shapeOf(writer)
    if (expandedSize(shape) > mostExpanded)
      throw new Error(`one record of it expands to more than ${mostExpanded} values`)
    refuseOtherUnits(readerSchema, writerSchema)
    const mostValues = readerSchema === schemas.command ? mostOfCommand : mostOfOthers
    return { shape, mostValues, ...resolvingOf(readerSchema, essence, writer) }
  } catch (error) {
    const reason = (error as Error).message.slice(0, longestReason)
    throw new SchemaUnreadable(
      `Schema ${schemaId} cannot be read as ${reader.name}: ${reason}. Write with the published schema, or upgrade busgate first.`,
    )
  }
}

/**
 * What the bytes depend on: names, types, symbols and sizes. Defaults of a writer have no meaning for its readers, and
 * avsc writes each out, however large.
 * @throws SchemaUnreadable
 */
function essenceOf(schema: unknown): unknown {
  const counts = { parts: 0, fields: 0, names: 0 }
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
    counts.fields += Array.isArray(fields) ? fields.length : 0
    if (counts.fields > mostFields) throw new SchemaUnreadable(`it has more than ${mostFields} fields`)
    const essence = { type, name, namespace, fields: fields && namesAndTypes(fields), items, values, symbols, size }
    return mapParts(Object.fromEntries(Object.entries(essence).filter(([, value]) => value !== undefined)), change)
  }
  return visit(schema, 0)
}

const namesAndTypes = (fields: unknown) =>
  Array.isArray(fields)
    ? fields.map(field => (isComplex(field) ? { name: field.name, type: field.type } : field))
    : fields

/**
 * Avro resolves each value, not the schemas alone: a union may have branches that the reader does not know. A record of
 * another name is none of the reader's.
 */
function resolvingOf(
  readerSchema: object,
  writerSchema: object,
  writer: Type,
): Pick<RecordReading, 'type' | 'resolver'> {
  const reader = avroTypeOf(readerSchema)
  if (reader.equals(writer)) return { type: reader, resolver: null }
  try {
    return { type: reader, resolver: reader.createResolver(writer, byName()) }
  } catch (error) {
    if (writer.name !== undefined && unqualified(writer.name) !== unqualified(reader.name!)) throw error
    const lenient = lenientTypeOf(readerSchema, strangersIn(readerSchema, writerSchema))
    try {
      return { type: lenient, resolver: lenient.createResolver(writer, byName()) }
    } catch {
      throw error
    }
  }
}

/** avsc keeps what it has found out in the options. */
const byName = () => ({ ignoreNamespaces: true })

/** The full names of the writer's records that the reader has none of. */
function strangersIn(readerSchema: object, writerSchema: object): string[] {
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

/** Record is what was read, and what is wrong with its texts. */
export interface ReadRecord {
  value: unknown
  /** Names a text that is not UTF-8, or a key that cannot be kept; null: there is none. */
  flaw: string | null
  /** Where the record ends. */
  end: number
}

/**
 * Reads the record that begins at `start`.
 * @throws Truncated; SchemaUnreadable when it is of a kind that the reader does not know; Error
 */
export function readRecord(reader: Type, reading: RecordReading, bytes: Buffer, start: number): ReadRecord {
  const { shape, type, resolver, mostValues } = reading
  const { position: end, isUtf8, hasProtoKey } = new Walk(shape, bytes, start, mostValues)
  const { value } = type.decode(bytes, start, resolver ?? undefined)
  const record = type === reader ? value : strictly(reader, type, value)
  const flaw = isUtf8 ? null : flawIn(record)
  return { value: record, flaw: hasProtoKey ? 'a map must not have the key __proto__' : flaw, end }
}

/** What a lenient type read, where it is a record of the reader. */
function strictly(reader: Type, { typeName }: Type, value: unknown): unknown {
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

/** Texts that are not UTF-8 were read with this in them. */
const replacement = '\ufffd'

/** Answers null where such a text is in what the reader does not read. */
function flawIn(record: unknown): string | null {
  const path = pathToText(record, text => text.includes(replacement))
  return path && `${fieldOf(path)} is not UTF-8`
}

/** The name of a command's field: the message is the field `message`, in an object with its kind. */
export const fieldOf = (path: readonly string[]) => path.slice(path[0] === 'message' ? 2 : 0).join('.')
