import { SchemaUnreadable } from './errors.ts'

/** Deepest nesting of types. */
const deepestSchema = 64

type SchemaObject = Record<string, unknown>

/** Maps each part of a schema: union branches, items, values and field types. */
export function mapParts(schema: object, change: (part: unknown) => unknown): unknown {
  if (Array.isArray(schema)) return schema.map(change)
  const copy: SchemaObject = { ...schema }
  for (const key of ['items', 'values']) copy[key] = change(copy[key])
  if (isComplex(copy.type)) copy.type = change(copy.type) // a text is the name of a kind, not a schema
  if (Array.isArray(copy.fields)) {
    copy.fields = copy.fields.map(field => (isComplex(field) ? { ...field, type: change(field.type) } : field))
  }
  return copy
}

/** @throws SchemaUnreadable */
export function oneLevelDeeper(level: number): number {
  if (level < deepestSchema) return level + 1
  throw new SchemaUnreadable(`it has types nested deeper than ${deepestSchema} levels`)
}

/** The namespace inside the schema, and its full name if it defines a named type. */
export function namesOf(schema: SchemaObject, outer: string): { namespace: string; name: string | null } {
  const { type, name } = schema
  if (typeof name !== 'string' || !namedTypes.includes(type)) return { namespace: outer, name: null }
  const namespace = typeof schema.namespace === 'string' ? schema.namespace : outer
  if (!name.includes('.')) return { namespace, name: fullName(name, namespace) }
  return { namespace: name.slice(0, name.lastIndexOf('.')), name }
}

const namedTypes: unknown[] = ['record', 'error', 'enum', 'fixed']

export const fullName = (name: string, namespace: string): string =>
  name.includes('.') || namespace === '' ? name : `${namespace}.${name}`

const primitives = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const
export type Primitive = (typeof primitives)[number]

/** No type can be defined under these names. */
export const isPrimitive = (name: string): name is Primitive => (primitives as readonly string[]).includes(name)

/** Whether a schema is an object or a list instead of a name. */
export const isComplex = (value: unknown): value is SchemaObject => typeof value === 'object' && value !== null

/** A schema as stored in a registry: its text, and references to the types that it names. */
export interface StoredSchema {
  schema: string
  /** AVRO when left out. */
  schemaType?: string
  references?: Reference[]
}

/** `name` is informative: the name of a type or of a file. */
export interface Reference {
  name: string
  subject: string
  version: number
}

const mostReferences = 100
/** Characters of `schemaType` in an error. */
const longestType = 32
/** Characters of the schema together with its references. Parsing them takes some 20 ms. */
const longestSchema = 1 << 18

/**
 * Inlines every referenced type at its first use.
 * @throws SchemaUnreadable when the schema is not Avro or exceeds a limit
 */
export async function selfContained(
  stored: StoredSchema,
  read: (reference: Reference) => Promise<StoredSchema>,
): Promise<object> {
  const definitions: Definitions = new Map()
  const seen = new Set<string>()
  const open: Reference[] = []
  let bytes = 0
  const parse = ({ schema, schemaType = 'AVRO', references }: StoredSchema): unknown => {
    if (schemaType !== 'AVRO') throw new SchemaUnreadable(`it is ${textOf(schemaType)}, not Avro`)
    bytes += schema.length
    if (bytes > longestSchema) throw new SchemaUnreadable(`it is longer than ${longestSchema} bytes`)
    for (const reference of referencesIn(references)) {
      const place = JSON.stringify([reference.subject, reference.version])
      if (seen.has(place)) continue
      if (seen.add(place).size > mostReferences) {
        throw new SchemaUnreadable(`it has more than ${mostReferences} references`)
      }
      open.push(reference)
    }
    try {
      return JSON.parse(schema)
    } catch {
      throw new SchemaUnreadable('its text is not JSON')
    }
  }
  const root = parse(stored)
  for (let reference = open.pop(); reference; reference = open.pop()) {
    define(parse(await read(reference)), '', definitions)
  }
  return (seen.size === 0 ? root : writeOut(root, '', definitions)) as object
}

function referencesIn(list: unknown): Reference[] {
  if (list === undefined || list === null) return []
  if (Array.isArray(list) && list.every(isReference)) return list
  throw new SchemaUnreadable('its references are not subjects with versions')
}

/** A subject becomes part of a URL. */
const isReference = (value: unknown): value is Reference =>
  isComplex(value) &&
  typeof value.subject === 'string' &&
  value.subject.isWellFormed() &&
  Number.isSafeInteger(value.version)

const textOf = (value: unknown) => (typeof value === 'string' ? value.slice(0, longestType) : typeof value)

/** Referenced types by full name, with their enclosing namespace; null once inlined. */
type Definitions = Map<string, { schema: unknown; namespace: string } | null>

function define(schema: unknown, outer: string, definitions: Definitions, level = 0): void {
  if (!isComplex(schema)) return
  const { namespace, name } = namesOf(schema, outer)
  if (name !== null && !definitions.has(name)) definitions.set(name, { schema, namespace: outer })
  const inner = oneLevelDeeper(level)
  mapParts(schema, part => define(part, namespace, definitions, inner))
}

function writeOut(schema: unknown, outer: string, definitions: Definitions, level = 0): unknown {
  if (typeof schema === 'string') {
    if (isPrimitive(schema)) return schema
    const name = [fullName(schema, outer), schema].find(one => definitions.has(one))
    const definition = name === undefined ? null : definitions.get(name)
    return definition ? writeOut(definition.schema, definition.namespace, definitions, level) : (name ?? schema)
  }
  if (!isComplex(schema)) return schema
  const { namespace, name } = namesOf(schema, outer)
  if (name !== null) {
    if (definitions.get(name) === null) return name
    definitions.set(name, null)
  }
  const inner = oneLevelDeeper(level)
  const written = mapParts(schema, part => writeOut(part, namespace, definitions, inner))
  return name === null ? written : { ...(written as object), namespace }
}
