import { SchemaUnreadable } from './errors.ts'

/** A schema as a registry keeps it: its own text, and where the types are that it only names. */
export interface StoredSchema {
  schema: string
  /** AVRO when left out. */
  schemaType?: string
  references?: Reference[]
}

/** `name` is the full name of the type. */
export interface Reference {
  name: string
  subject: string
  version: number
}

/**
 * The schema with every referenced type written out where it is first named.
 * @throws SchemaUnreadable when it is not Avro.
 */
export async function selfContained(
  stored: StoredSchema,
  read: (reference: Reference) => Promise<StoredSchema>,
): Promise<object> {
  const parts = new Map<string, unknown>()
  const collect = async (references: Reference[] = []): Promise<void> => {
    for (const reference of references) {
      if (parts.has(reference.name)) continue
      const part = await read(reference)
      parts.set(reference.name, parse(part))
      await collect(part.references)
    }
  }
  const root = parse(stored)
  await collect(stored.references)
  return (parts.size === 0 ? root : inline(root, '', parts)) as object
}

function parse({ schema, schemaType = 'AVRO' }: StoredSchema): unknown {
  if (schemaType !== 'AVRO') throw new SchemaUnreadable(`it is ${schemaType}, not Avro.`)
  try {
    return JSON.parse(schema)
  } catch {
    throw new SchemaUnreadable('its text is not JSON.')
  }
}

function inline(schema: unknown, namespace: string, parts: Map<string, unknown>): unknown {
  if (typeof schema === 'string') {
    const name = schema.includes('.') || namespace === '' ? schema : `${namespace}.${schema}`
    const part = parts.get(name)
    if (part === undefined) return schema
    parts.delete(name)
    return inline(part, '', parts)
  }
  if (Array.isArray(schema)) return schema.map(branch => inline(branch, namespace, parts))
  return inlineObject(schema as Record<string, unknown>, namespace, parts)
}

function inlineObject(schema: Record<string, unknown>, outer: string, parts: Map<string, unknown>): object {
  const name = String(schema.name ?? '')
  const namespace = String(schema.namespace ?? (name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : outer))
  const entries = Object.entries(schema).map(([key, value]) => {
    if (key === 'type' || key === 'items' || key === 'values') return [key, inline(value, namespace, parts)]
    if (key !== 'fields') return [key, value]
    return [
      key,
      (value as { type: unknown }[]).map(field => ({ ...field, type: inline(field.type, namespace, parts) })),
    ]
  })
  return { ...Object.fromEntries(entries), ...(name === '' ? {} : { namespace }) }
}
