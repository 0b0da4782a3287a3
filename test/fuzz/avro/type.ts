/** Avro types as a graph, without busgate's or a library's code. A named type is one object, however often it is used. */
export type AvroType =
  | { kind: Primitive }
  | { kind: 'array' | 'map'; of: AvroType }
  | { kind: 'union'; branches: AvroType[] }
  | NamedType
export type NamedType =
  | { kind: 'fixed'; name: string; namespace: string; size: number }
  | { kind: 'enum'; name: string; namespace: string; symbols: string[] }
  | RecordType
export interface RecordType {
  kind: 'record'
  name: string
  namespace: string
  fields: Field[]
}
export interface Field {
  name: string
  type: AvroType
}

export const primitives = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const
export type Primitive = (typeof primitives)[number]

// biome-ignore lint/suspicious/noExplicitAny: a schema is any JSON
export type Json = any

export const isNamed = (type: AvroType): type is NamedType => 'name' in type

/** Reads one of the published schemas, or another that is surely valid. */
export function typeOf(schema: Json, namespace = '', named = new Map<string, AvroType>()): AvroType {
  const of = (part: Json, inner = namespace) => typeOf(part, inner, named)
  if (typeof schema === 'string') return named.get(schema.split('.').at(-1)!) ?? { kind: schema as Primitive }
  if (Array.isArray(schema)) return { kind: 'union', branches: schema.map(one => of(one)) }
  const { type, name, items, values, symbols, size, fields } = schema
  if (type === 'array') return { kind: type, of: of(items) }
  if (type === 'map') return { kind: type, of: of(values) }
  if (name === undefined) return of(type)
  const own = { name, namespace: schema.namespace ?? namespace }
  if (type === 'fixed') return remember({ kind: type, ...own, size })
  if (type === 'enum') return remember({ kind: type, ...own, symbols: [...symbols] })
  const record = remember({ kind: 'record', ...own, fields: [] }) as RecordType
  for (const field of fields) record.fields.push({ name: field.name, type: of(field.type, own.namespace) })
  return record

  function remember(made: NamedType): NamedType {
    named.set(name, made)
    return made
  }
}

/** All types of a graph, each once. */
export function typesIn(root: AvroType): AvroType[] {
  const found = new Set<AvroType>()
  const open = [root]
  for (let type = open.pop(); type; type = open.pop()) {
    if (found.has(type)) continue
    found.add(type)
    open.push(...partsOf(type))
  }
  return [...found]
}

export function partsOf(type: AvroType): AvroType[] {
  if (type.kind === 'union') return type.branches
  if (type.kind === 'record') return type.fields.map(field => field.type)
  return 'of' in type ? [type.of] : []
}

/** Makes the graph valid: no union in a union, no branch, full name or field twice. */
export function repair(root: AvroType): void {
  const names = new Set<string>()
  for (const type of typesIn(root)) {
    if (isNamed(type)) {
      for (let n = 2; names.has(fullName(type)); n++) type.name = `${type.name.replace(/_\d+$/, '')}_${n}`
      names.add(fullName(type))
    }
  }
  for (const type of typesIn(root)) {
    if (type.kind === 'record') type.fields = [...new Map(type.fields.map(field => [field.name, field])).values()]
    if (type.kind !== 'union') continue
    const known = new Set<string>()
    const flat = type.branches.flatMap(branch => (branch.kind === 'union' ? branch.branches : [branch]))
    const valid = flat.filter(branch => {
      const key = isNamed(branch) ? fullName(branch) : branch.kind
      return branch.kind !== 'union' && !known.has(key) && known.add(key)
    })
    type.branches = valid.length > 0 ? valid : [{ kind: 'null' }]
  }
}

export const fullName = ({ name, namespace }: NamedType): string => (namespace === '' ? name : `${namespace}.${name}`)

/**
 * Writes a schema: each named type in full at its first use.
 * @param decorate may add attributes to the schema of a type
 */
export function schemaOf(root: AvroType, decorate: (schema: Json, type: AvroType) => Json = schema => schema): Json {
  const written = new Set<NamedType>()
  const visit = (type: AvroType): Json => {
    if (type.kind === 'union') return type.branches.map(visit)
    if (type.kind === 'array') return decorate({ type: type.kind, items: visit(type.of) }, type)
    if (type.kind === 'map') return decorate({ type: type.kind, values: visit(type.of) }, type)
    if (!isNamed(type)) return decorate(type.kind, type)
    if (written.has(type)) return fullName(type)
    written.add(type)
    const { kind, name, namespace } = type
    const own = { type: kind, name, namespace }
    if (type.kind === 'fixed') return decorate({ ...own, size: type.size }, type)
    if (type.kind === 'enum') return decorate({ ...own, symbols: type.symbols }, type)
    return decorate({ ...own, fields: type.fields.map(field => ({ name: field.name, type: visit(field.type) })) }, type)
  }
  return visit(root)
}
