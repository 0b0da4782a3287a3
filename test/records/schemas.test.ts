import avro from 'avsc'
import { describe, expect, test } from 'vitest'
import {
  type AvroEnum,
  type AvroField,
  type AvroRecord,
  type AvroType,
  schemas,
  subjectOf,
} from '../../src/records/schemas.ts'

type Part = AvroRecord | AvroEnum

/** Every record and enum of a schema, with the record that contains it. */
function partsOf(type: AvroType, parent?: AvroRecord): { part: Part; parent?: AvroRecord }[] {
  if (typeof type === 'string') return []
  if (Array.isArray(type)) return type.flatMap(branch => partsOf(branch, parent))
  if (type.type === 'array') return partsOf(type.items, parent)
  if (type.type === 'map') return partsOf(type.values, parent)
  if (type.type === 'long') return []
  const own = { part: type, ...(parent && { parent }) }
  return type.type === 'enum' ? [own] : [own, ...type.fields.flatMap(field => partsOf(field.type, type))]
}

const recordsOf = (schema: AvroRecord) => partsOf(schema).flatMap(({ part }) => (part.type === 'record' ? [part] : []))
const enumsOf = (schema: AvroRecord) => partsOf(schema).flatMap(({ part }) => (part.type === 'enum' ? [part] : []))
const fieldNamed = (schema: AvroRecord, name: string) => schema.fields.find(field => field.name === name) as AvroField
const messages = fieldNamed(schemas.command, 'message').type as AvroRecord[]

describe.each(Object.entries(schemas))('the schema of a %s', (_name, schema) => {
  test('is self-contained Avro in the namespace io.busgate', () => {
    expect(avro.Type.forSchema(schema as avro.schema.AvroSchema).name).toBe(`io.busgate.${schema.name}`)
  })

  test('documents every record, enum and field', () => {
    for (const { part } of partsOf(schema)) expect(part.doc, part.name).toMatch(/^[A-Z].*\.$/)
    for (const { name, fields } of recordsOf(schema)) {
      for (const field of fields) expect(field.doc, `${name}.${field.name}`).toMatch(/^[A-Z].*\.$/)
    }
  })

  test('has no record without fields, because some sinks refuse it', () => {
    for (const { name, fields } of recordsOf(schema)) expect(fields, name).not.toHaveLength(0)
  })

  test('has a default for every nullable field', () => {
    for (const { name, fields } of recordsOf(schema)) {
      for (const field of fields.filter(({ type }) => Array.isArray(type) && type.includes('null'))) {
        expect(field.default, `${name}.${field.name}`).toBeNull()
      }
    }
  })
})

test("records nested in a message have the message's name as prefix", () => {
  for (const message of messages) {
    for (const { part } of partsOf(message)) expect(part.name.startsWith(message.name), part.name).toBe(true)
  }
})

test('messages have no type, id, phone or hook, because the command has them', () => {
  for (const { name, fields } of messages) {
    for (const field of ['type', 'id', 'phone', 'hook'])
      expect(
        fields.map(f => f.name),
        name,
      ).not.toContain(field)
  }
})

test('every enum except the delivery policy has the default UNKNOWN', () => {
  expect(enumsOf(schemas.command).map(part => part.default)).toEqual([undefined])
  for (const part of [...enumsOf(schemas.result), ...enumsOf(schemas.status)]) {
    expect([part.default, part.symbols.at(-1)], part.name).toEqual(['UNKNOWN', 'UNKNOWN'])
  }
})

test('the subject of a topic follows TopicNameStrategy', () => {
  expect(subjectOf('busgate.results')).toBe('busgate.results-value')
})
