import avro from 'avsc'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { operations, sendTypes } from '../../src/protocol/index.ts'
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

test('messages have no type, id, phone or hook, because the command has them; only a sealed one names its type', () => {
  for (const { name, fields } of messages.filter(({ name }) => name !== 'Sealed')) {
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

/** A message's fields, those of its parts included, without notes that are never sent. */
function avroFields(type: AvroType, path = ''): string[] {
  const named = recordsOf(schemas.command).find(({ name }) => name === type)
  if (named) return avroFields(named, path)
  if (typeof type === 'string') return []
  if (Array.isArray(type)) return type.flatMap(branch => avroFields(branch, path))
  if (type.type === 'array') return avroFields(type.items, path)
  if (type.type !== 'record') return []
  const sent = type.fields.filter(({ doc }) => !doc.includes('It is never sent'))
  return sent.flatMap(({ name, type }) => [`${path}${name}`, ...avroFields(type, `${path}${name}.`)])
}

/** The fields of an operation that are checked before it is sent. */
function checkedFields(type: z.core.$ZodType, path = ''): string[] {
  if (type instanceof z.ZodOptional) return checkedFields(type.unwrap(), path)
  if (type instanceof z.ZodArray) return checkedFields(type.element, path)
  if (!(type instanceof z.ZodObject)) return []
  const fields = Object.entries<z.core.$ZodType>(type.shape)
  return fields.flatMap(([name, field]) => [`${path}${name}`, ...checkedFields(field, `${path}${name}.`)])
}

test.each(sendTypes)('a message of type %s has every field of its operation, and none that is not checked', type => {
  const message = messages.find(({ name }) => name === operations[type].record)!
  const isOfCommand = (name: string) => ['type', 'id', 'phone', 'hook'].includes(name)
  const isUnlisted = (name: string) => type === 'viber+sms' && name.startsWith('viber_carousel') // only `extra` can give it
  const checked = checkedFields(operations[type].schema).filter(name => !isOfCommand(name) && !isUnlisted(name))
  expect(avroFields(message).sort()).toEqual(checked.sort())
})
