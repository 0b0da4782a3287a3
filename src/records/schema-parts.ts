/** Definite: there is a schema, and it cannot be read here. */
export class SchemaUnreadable extends Error {
  override readonly name = 'SchemaUnreadable'
}

/** Types inside each other. */
const deepestSchema = 64

type SchemaObject = Record<string, unknown>

/** The schema with each of its parts changed: branches of a union, items, values and the types of fields. */
export function mapParts(schema: object, change: (part: unknown) => unknown): unknown {
  if (Array.isArray(schema)) return schema.map(change)
  const copy: SchemaObject = { ...schema }
  for (const key of ['type', 'items', 'values']) if (isSchema(copy[key], key)) copy[key] = change(copy[key])
  if (Array.isArray(copy.fields)) {
    copy.fields = copy.fields.map(field => (isComplex(field) ? { ...field, type: change(field.type) } : field))
  }
  return copy
}

/** The `type` of a schema is mostly the name of its kind. */
const isSchema = (value: unknown, key: string): boolean =>
  value !== undefined && (key !== 'type' || typeof value === 'object')

/** @throws SchemaUnreadable */
export function oneLevelDeeper(level: number): number {
  if (level < deepestSchema) return level + 1
  throw new SchemaUnreadable(`it has types nested deeper than ${deepestSchema} levels`)
}

/** The namespace of what is inside the schema, and the full name of what it defines, if that is a named type. */
export function namesOf(schema: SchemaObject, outer: string): { namespace: string; name: string | null } {
  const { type, name, namespace = outer } = schema
  if (typeof name !== 'string' || !namedTypes.includes(type)) return { namespace: outer, name: null }
  if (!name.includes('.')) return { namespace: String(namespace), name: fullName(name, String(namespace)) }
  return { namespace: name.slice(0, name.lastIndexOf('.')), name }
}

const namedTypes: unknown[] = ['record', 'error', 'enum', 'fixed']

export const fullName = (name: string, namespace: string): string =>
  name.includes('.') || namespace === '' ? name : `${namespace}.${name}`

/** Tells whether a schema is more than a name: an object or a list. */
export const isComplex = (value: unknown): value is SchemaObject => typeof value === 'object' && value !== null

/** A schema as a registry keeps it: its own text, and where the types are that it only names. */
export interface StoredSchema {
  schema: string
  /** AVRO when left out. */
  schemaType?: string
  references?: Reference[]
}

/** `name` is for people: it may be that of a type or of a file. */
export interface Reference {
  name: string
  subject: string
  version: number
}

const mostReferences = 100
/** Bytes of all texts together. */
const longestSchema = 1 << 20

/**
 * The schema with every referenced type written out where it is first named.
 * @throws SchemaUnreadable when it is not Avro, or larger than busgate reads.
 */
export async function selfContained(
  stored: StoredSchema,
  read: (reference: Reference) => Promise<StoredSchema>,
): Promise<object> {
  const definitions: Definitions = new Map()
  const seen = new Set<string>()
  let bytes = 0
  const parse = ({ schema, schemaType = 'AVRO' }: StoredSchema): unknown => {
    if (schemaType !== 'AVRO') throw new SchemaUnreadable(`it is ${schemaType}, not Avro`)
    bytes += schema.length
    if (bytes > longestSchema) throw new SchemaUnreadable(`it is longer than ${longestSchema} bytes`)
    try {
      return JSON.parse(schema)
    } catch {
      throw new SchemaUnreadable('its text is not JSON')
    }
  }
  const root = parse(stored)
  const open = [...(stored.references ?? [])]
  for (let reference = open.pop(); reference; reference = open.pop()) {
    const place = JSON.stringify([reference.subject, reference.version])
    if (seen.has(place)) continue
    if (seen.add(place).size > mostReferences) {
      throw new SchemaUnreadable(`it has more than ${mostReferences} references`)
    }
    const part = await read(reference)
    define(parse(part), '', definitions)
    open.push(...(part.references ?? []))
  }
  return (seen.size === 0 ? root : writeOut(root, '', definitions)) as object
}

/** Types of the references by their full names, each with the namespace around it; null: it is written out already. */
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
