import { SchemaUnreadable } from './errors.ts'

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
