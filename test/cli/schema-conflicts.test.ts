import { describe, expect, test } from 'vitest'
import { inspect } from '../../src/cli/doctor/registry.ts'
import type { RegistryAdmin } from '../../src/cli/registry-admin.ts'
import { SchemaUnreadable } from '../../src/records/errors.ts'
import { type AvroEnum, type AvroRecord, type AvroType, schemas } from '../../src/records/schemas.ts'

type Kind = keyof typeof schemas
const levels = {
  command: 'BACKWARD_TRANSITIVE',
  result: 'FULL_TRANSITIVE',
  status: 'FULL_TRANSITIVE',
  doubt: 'FULL_TRANSITIVE',
} as const

/** The complaints of doctor about a subject whose first version has this schema. */
async function conflictsWith(kind: Kind, theirs: object | SchemaUnreadable): Promise<string[]> {
  const admin = {
    versionsOf: async () => [1],
    idOf: async () => 7,
    versionOf: async () => null,
    levelOf: async () => null,
  } as unknown as RegistryAdmin
  const registry = {
    schemaOf: async () => {
      if (theirs instanceof SchemaUnreadable) throw theirs
      return theirs
    },
    idOf: async () => 1,
  }
  const { conflicts } = await inspect({ subject: 's', schema: schemas[kind], level: levels[kind] }, admin, registry)
  return conflicts
}

function changed(kind: Kind, name: string, change: (type: AvroType) => AvroType): AvroRecord {
  const schema = structuredClone(schemas[kind])
  const field = schema.fields.find(one => one.name === name)!
  field.type = change(field.type)
  return schema
}

function without(kind: Kind, name: string): AvroRecord {
  const schema = structuredClone(schemas[kind])
  schema.fields = schema.fields.filter(field => field.name !== name)
  return schema
}

const fax = { type: 'record', name: 'Fax', doc: '', fields: [] } as const
const micros = { type: 'long', logicalType: 'timestamp-micros' } as never

describe('doctor finds a registered version of a subject', () => {
  const note = { name: 'toString', type: 'bytes', default: '' }
  test.each<[string, Kind, object]>([
    ['that lacks a field with a default', 'result', without('result', 'campaign')],
    ['that has a field more', 'status', { ...schemas.status, fields: [note, ...schemas.status.fields] }],
    ['in another namespace', 'result', { ...schemas.result, namespace: 'com.shop' }],
  ])('compatible %s', async (_name, kind, theirs) => {
    expect(await conflictsWith(kind, theirs)).toEqual([])
  })

  test.each<[string, Kind, object, RegExp]>([
    ['that lacks a required field', 'command', without('command', 'phone'), /local schema: it lacks the field phone/],
    [
      'with a type of message more',
      'command',
      changed('command', 'message', type => [...(type as AvroType[]), fax] as AvroType),
      /message is io\.busgate\.Fax$/,
    ],
    [
      'with a symbol more',
      'command',
      changed('command', 'delivery', type => ({
        ...(type as AvroEnum),
        symbols: [...(type as AvroEnum).symbols, 'NEW'],
      })),
      /delivery is NEW$/,
    ],
    [
      'with another unit',
      'command',
      changed('command', 'deadline', () => ['null', micros]),
      /deadline is timestamp-micros$/,
    ],
    ['of another type', 'result', schemas.status, /it is io\.busgate\.StatusEvent$/],
    [
      'whose readers need another field',
      'status',
      { ...schemas.status, fields: [{ name: 'b', type: 'int' }, ...schemas.status.fields] },
      /cannot read what the local schema writes: it lacks the field b /,
    ],
    ['that is no record', 'result', { type: 'string' }, /is not a record$/],
    [
      'that is no Avro',
      'result',
      { ...schemas.result, fields: [{ name: 'a', type: 'nothing' }] },
      /unknown type: nothing$/,
    ],
    [
      'that cannot be read',
      'result',
      new SchemaUnreadable('Schema 7 cannot be read: it is JSON, not Avro.'),
      /it is JSON/,
    ],
  ])('incompatible %s', async (_name, kind, theirs, complaint) => {
    expect(await conflictsWith(kind, theirs)).toEqual([expect.stringMatching(complaint)])
  })

  test('incompatible without expanding it, if its records contain each other 2^40 times', async () => {
    let inner: unknown = 'int'
    for (let level = 0; level < 40; level++) {
      const again = level === 0 ? 'int' : `R${level - 1}`
      inner = {
        type: 'record',
        name: `R${level}`,
        fields: [
          { name: 'a', type: inner, default: {} },
          { name: 'b', type: again, default: {} },
        ],
      }
    }
    const theirs = { ...schemas.result, fields: [...schemas.result.fields, { name: 'more', type: inner }] }
    expect(await conflictsWith('result', theirs)).toEqual([expect.stringMatching(/lacks the field more/)])
  })
})
