import { SchemaUnreadable } from './errors.ts'
import { fullName, isComplex, isPrimitive, namesOf, oneLevelDeeper, type Primitive } from './schema-parts.ts'

/** Bound of a schema; the published ones have a tenth of it. */
const mostParts = 2_500
/** Most bytes of memory that a part, a record with its plan, and a text besides its characters take. Measured. */
const bytesOf = { part: 640, record: 4_096, text: 64 }

/** A type as data. The names in a foreign schema are compared, never compiled nor used as properties. */
export interface Shape {
  kind: Primitive | 'bigint' | 'fixed' | 'enum' | 'array' | 'map' | 'record' | 'union'
  /** Full name of a named type, unit of a time, else the kind. */
  name: string
  /** Unqualified name and aliases of a named type. */
  names: string[]
  /** Fields of a record, branches of a union, items of an array, values of a map. */
  parts: Shape[]
  /** Of a record: names and default of each of its parts. */
  fields: Field[]
  /** Bytes of a `fixed`. */
  size: number
  symbols: string[]
  /** An enum's symbol for unknown ones. */
  fallback: string | null
  /** Whether a union's value is an object whose only key is the record's full name. */
  isTagged: boolean
  /** The reader's type that the writer's was last read as, and its branch. */
  matchedFor: Shape | null
  match: Shape | null
  /** How to read the writer's record as a record of the reader. */
  plans: Map<Shape, Plan> | null
}

interface Field {
  /** Its name, then its aliases. */
  names: string[]
  /** undefined if it has none, or belongs to a writer. */
  default: unknown
}

/** How to read a writer's record as the reader's. */
export interface Plan {
  /** The reader's record with all fields, none of them read. */
  blank: Record<string, unknown>
  /** The written fields; `wanted` is null for a field that the reader lacks. */
  steps: { name: string; written: Shape; wanted: Shape | null }[]
  /** Names and defaults of the fields that are not written. */
  missing: [name: string, value: unknown][]
}

type Definition = Record<string, unknown>

/** The units of numbers that are times. Any other logical type is ignored, as the specification says. */
const units = new Map<unknown, unknown[]>([
  ['int', ['date', 'time-millis']],
  [
    'long',
    ['time-micros', ...['millis', 'micros', 'nanos'].flatMap(unit => [`timestamp-${unit}`, `local-timestamp-${unit}`])],
  ],
])

/**
 * The shape of a schema, and the most bytes of memory that it takes. A writer's shape has no defaults.
 * @throws SchemaUnreadable when it is not Avro or exceeds a limit
 */
export function shapeOf(schema: unknown, use: 'written' | 'wanted'): { shape: Shape; bytes: number } {
  const shaping = new Shaping(use === 'wanted')
  const shape = shaping.visit(schema, '', 0)
  return { shape, bytes: shaping.bytes }
}

class Shaping {
  bytes = 0
  #parts = 0
  readonly #named = new Map<string, Shape>()
  readonly #keepsDefaults: boolean

  constructor(keepsDefaults: boolean) {
    this.#keepsDefaults = keepsDefaults
  }

  visit(part: unknown, outer: string, level: number): Shape {
    if (++this.#parts > mostParts) throw new SchemaUnreadable(`it has more than ${mostParts} parts`)
    this.bytes += bytesOf.part
    if (typeof part === 'string') return this.#ofName(part, outer)
    if (!isComplex(part)) throw new SchemaUnreadable('a type is missing')
    const inner = oneLevelDeeper(level)
    const visit = (one: unknown) => this.visit(one, outer, inner)
    if (Array.isArray(part)) return unionOf(part.map(visit))
    switch (part.type) {
      case 'array':
        return { ...newShape('array'), parts: [visit(part.items)] }
      case 'map':
        return { ...newShape('map'), parts: [visit(part.values)] }
      case 'record':
      case 'error':
        return this.#record(part, outer, inner)
      case 'enum':
        return Object.assign(this.#define('enum', part, outer), {
          symbols: this.#texts(symbolsOf(part)),
          fallback: typeof part.default === 'string' ? part.default : null,
        })
      case 'fixed':
        if (!Number.isSafeInteger(part.size) || Number(part.size) < 0) throw new SchemaUnreadable('a fixed has no size')
        return Object.assign(this.#define('fixed', part, outer), { size: part.size })
      default:
        return isTime(part) ? newShape(part.type, part.logicalType) : visit(part.type)
    }
  }

  #ofName(name: string, outer: string): Shape {
    if (isPrimitive(name)) return newShape(name)
    const known = this.#named.get(fullName(name, outer)) ?? this.#named.get(name)
    if (known) return known
    throw new SchemaUnreadable(`it has an unknown type: ${name}`)
  }

  #define(kind: Shape['kind'], part: Definition, outer: string): Shape {
    const { name } = namesOf(part, outer)
    if (name === null) throw new SchemaUnreadable(`a type ${kind} has no name`)
    if (this.#named.has(name)) throw new SchemaUnreadable(`it defines ${name} twice`)
    const shape = { ...newShape(kind, name), names: this.#texts([name, ...aliasesOf(part)]).map(unqualified) }
    this.#named.set(name, shape)
    return shape
  }

  #record(part: Definition, outer: string, level: number): Shape {
    const shape = this.#define('record', part, outer)
    this.bytes += bytesOf.record
    const { namespace } = namesOf(part, outer)
    const known = new Set<string>()
    for (const field of listOf(part.fields, 'fields')) {
      if (!isComplex(field) || typeof field.name !== 'string') throw new SchemaUnreadable('a field has no name')
      if (known.has(field.name)) throw new SchemaUnreadable(`${shape.name} has the field ${field.name} twice`)
      known.add(field.name)
      shape.fields.push({
        names: this.#texts([field.name, ...aliasesOf(field)]),
        default: this.#keepsDefaults ? field.default : undefined,
      })
      shape.parts.push(this.visit(field.type, namespace, level))
    }
    return shape
  }

  #texts(texts: string[]): string[] {
    for (const { length } of texts) this.bytes += bytesOf.text + 2 * length
    return texts
  }
}

const newShape = (kind: Shape['kind'], name: string = kind): Shape => ({
  kind,
  name,
  names: [],
  parts: [],
  fields: [],
  size: 0,
  symbols: [],
  fallback: null,
  isTagged: false,
  matchedFor: null,
  match: null,
  plans: null,
})

function unionOf(parts: Shape[]): Shape {
  if (parts.some(({ kind }) => kind === 'union')) throw new SchemaUnreadable('it has a union in a union')
  return { ...newShape('union'), parts, isTagged: parts.filter(({ kind }) => kind === 'record').length > 1 }
}

const isTime = (part: Definition): part is { type: 'int' | 'long'; logicalType: string } =>
  units.get(part.type)?.includes(part.logicalType) ?? false

function listOf(list: unknown, name: string): unknown[] {
  if (Array.isArray(list)) return list
  throw new SchemaUnreadable(`a list of ${name} is missing`)
}

function symbolsOf({ symbols }: Definition): string[] {
  const list = listOf(symbols, 'symbols')
  if (list.every(isText)) return list
  throw new SchemaUnreadable('a symbol is not a text')
}

const aliasesOf = ({ aliases }: Definition): string[] => (Array.isArray(aliases) ? aliases.filter(isText) : [])

const isText = (value: unknown) => typeof value === 'string'

const unqualified = (name: string) => name.slice(name.lastIndexOf('.') + 1)
