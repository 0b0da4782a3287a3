/**
 * Writes src/records/generated.ts, the TypeScript of schemas/*.avsc, and their texts, because a bundle of a service contains no
 * files beside it.
 */
import { readFileSync } from 'node:fs'
import { type AvroEnum, type AvroField, type AvroRecord, type AvroType, isId } from '../src/records/schemas.ts'
import { writeGenerated } from './generated-file.ts'

const primitives: Record<string, string> = {
  null: 'null',
  boolean: 'boolean',
  int: 'number',
  long: 'number',
  double: 'number',
  string: 'string',
  bytes: 'Buffer',
}

const schemas = {
  command: read('send-command'),
  result: read('send-result'),
  status: read('status-event'),
  doubt: read('doubt'),
}

function read(name: string): AvroRecord {
  return JSON.parse(readFileSync(new URL(`../schemas/${name}.avsc`, import.meta.url), 'utf8'))
}

/** The TypeScript types of all schemas, as avsc decodes and encodes their records. */
function generate(): string {
  const header = '// Made by scripts/generate-types.ts from schemas/*.avsc: change those and run npm run generate.\n'
  const texts = Object.entries(schemas).map(([name, schema]) => `  ${name}: ${quoted(JSON.stringify(schema))},\n`)
  const constant = `/** The published schemas, as JSON. */\nexport const schemaTexts = {\n${texts.join('')}}\n`
  return [header, constant, ...Object.values(schemas).flatMap(definitionsOf)].join('\n')
}

const quoted = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`

/** The definition of a record or enum, followed by those nested in it. */
function definitionsOf(type: AvroType): string[] {
  if (typeof type === 'string') return []
  if (Array.isArray(type)) return type.flatMap(definitionsOf)
  if (type.type === 'record') return [interfaceOf(type), ...type.fields.flatMap(field => definitionsOf(field.type))]
  if (type.type === 'enum') return [enumOf(type)]
  if (type.type === 'array') return definitionsOf(type.items)
  return type.type === 'map' ? definitionsOf(type.values) : []
}

function interfaceOf({ name, doc, fields }: AvroRecord): string {
  return `/** ${doc} */\nexport interface ${name} {\n${fields.map(fieldOf).join('')}}\n`
}

function enumOf({ name, doc, symbols }: AvroEnum): string {
  return `/** ${doc} */\nexport type ${name} = ${symbols.map(symbol => `'${symbol}'`).join(' | ')}\n`
}

function fieldOf(field: AvroField): string {
  return `  /** ${field.doc} */\n  ${field.name}: ${isId(field) ? 'bigint' : typeName(field.type)}\n`
}

function typeName(type: AvroType): string {
  if (typeof type === 'string') return primitives[type] ?? type
  if (Array.isArray(type)) return unionOf(type)
  if (type.type === 'array') return `${typeName(type.items)}[]`
  if (type.type === 'map') return `Record<string, ${typeName(type.values)}>`
  return type.type === 'long' ? 'number' : type.name
}

/** avsc wraps values of a union of several records in an object whose only key is the record's full name. */
function unionOf(branches: AvroType[]): string {
  const records = branches.filter(branch => typeof branch === 'object' && 'fields' in branch)
  if (records.length < 2) return branches.map(typeName).reverse().join(' | ')
  return records.map(({ name }) => `{ '${schemas.command.namespace}.${name}': ${name} }`).join('\n    | ')
}

writeGenerated('src/records/generated.ts', generate())
