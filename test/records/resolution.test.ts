import { describe, expect, test } from 'vitest'
import { Mismatch, requireReadable } from '../../src/records/resolution.ts'
import { shapeOf } from '../../src/records/shape.ts'

type Type = unknown

const record = (name: string, ...fields: object[]) => ({ type: 'record', name, fields })
const holder = (type: Type) => record('Holder', { name: 'a', type })
const enumOf = (...symbols: string[]) => ({ type: 'enum', name: 'Colour', symbols })
const fixed = (size: number, name = 'Digest') => ({ type: 'fixed', name, size })

/** Why records of one schema cannot be read with another, as `busgate doctor` says it; null if they can. */
function complaint(written: Type, wanted: Type): string | null {
  try {
    requireReadable(shapeOf(holder(written), 'written').shape, shapeOf(holder(wanted), 'wanted').shape)
    return null
  } catch (error) {
    if (error instanceof Mismatch) return error.complaint
    throw error
  }
}

/** Where a type may stand in a schema, with the path to it. */
const places: [string, (type: Type) => Type, string][] = [
  ['a field', type => type, 'a'],
  ['an optional field', type => ['null', type], 'a'],
  ['an item', type => ({ type: 'array', items: type }), 'a'],
  ['a value of a map', type => ({ type: 'map', values: type }), 'a'],
  ['a field of an item', type => ({ type: 'array', items: record('Item', { name: 'b', type }) }), 'a.b'],
]

describe.each(places)('as %s,', (_, at, path) => {
  test.each<[Type, Type]>([
    ['int', 'long'],
    ['int', 'float'],
    ['int', 'double'],
    ['long', 'long'],
    ['long', 'double'],
    ['float', 'double'],
    ['string', 'bytes'],
    ['bytes', 'string'],
    ['boolean', 'boolean'],
    [enumOf('RED'), enumOf('GREEN', 'RED')],
    [enumOf('RED', 'BLUE'), { ...enumOf('RED', 'UNKNOWN'), default: 'UNKNOWN' }],
    [fixed(16), fixed(16)],
    [{ ...fixed(16, 'Hash') }, { ...fixed(16), aliases: ['Hash'] }],
    [
      record('R', { name: 'x', type: 'int' }, { name: 'more', type: 'bytes' }),
      record('R', { name: 'x', type: 'long' }),
    ],
    [record('R'), record('R', { name: 'x', type: 'long', default: 7 })],
  ])('%j can be read as %j', (written, wanted) => {
    expect(complaint(at(written), at(wanted))).toBeNull()
  })

  test.each<[Type, Type, string]>([
    ['long', 'int', 'is long'],
    ['float', 'long', 'is float'],
    ['double', 'float', 'is double'],
    ['string', 'long', 'is string'],
    ['boolean', 'string', 'is boolean'],
    [enumOf('RED', 'BLUE'), enumOf('RED'), 'is BLUE'],
    [enumOf('RED'), { ...enumOf('RED'), name: 'Shade' }, 'is Colour'],
    [fixed(16), fixed(8), 'is Digest'],
    [fixed(16), fixed(16, 'Hash'), 'is Digest'],
    [fixed(16), 'bytes', 'is Digest'],
    [record('R'), record('S'), 'is R'],
    [record('Colour'), enumOf('RED'), 'is Colour'],
    [enumOf('RED'), record('Colour'), 'is Colour'],
    [record('R'), record('R', { name: 'x', type: 'long' }), 'lacks the field x of R'],
    [record('R', { name: 'x', type: 'string' }), record('R', { name: 'x', type: 'long' }), 'x is string'],
  ])('%j cannot be read as %j', (written, wanted, what) => {
    const found = complaint(at(written), at(wanted))
    expect(found).toBe(/^x /.test(what) ? `${path}.${what}` : `${path} ${what}`)
  })
})

test('every branch of a union must be readable', () => {
  expect(complaint(['null', 'int', 'string'], ['null', 'string', 'long'])).toBeNull()
  expect(complaint(['null', 'int', 'string'], ['null', 'long'])).toBe('a is string')
  expect(complaint(['null', 'int'], 'long')).toBe('a is null')
})

test('a recursive schema is readable if its record is', () => {
  const list = (type: string) => record('List', { name: 'x', type }, { name: 'next', type: ['null', 'List'] })
  expect(complaint(list('int'), list('long'))).toBeNull()
  expect(complaint(list('string'), list('long'))).toBe('a.x is string')
})
