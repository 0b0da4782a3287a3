import { expect, test } from 'vitest'
import { createDecoder } from '../../src/records/decoder.ts'
import { schemas } from '../../src/records/schemas.ts'
import { collectGarbage } from '../support/garbage.ts'
import { changedCommandSchema, recordOf } from './codec.ts'

type Make = (i: number) => { name: string; type: unknown }[]
const many = <T>(length: number, make: (k: number) => T) => Array.from({ length }, (_, k) => make(k))

const kinds: [string, Make][] = [
  ['with thousands of fields', i => many(2_200, k => ({ name: `f${i}_${k}`, type: 'int' }))],
  ['with a union of thousands of types', i => [{ name: `u${i}`, type: many(2_200, () => 'int') }]],
  [
    'with names of thousands of characters',
    i => many(20, k => ({ name: `${'й'.repeat(10_000)}${i}_${k}`, type: 'int' })),
  ],
  [
    'with a thousand records',
    i => [{ name: 'r', type: many(1_000, k => ({ type: 'record', name: `n${i}_${k}.R`, fields: [] })) }],
  ],
  [
    'with large defaults',
    i => many(10, k => ({ name: `d${i}_${k}`, type: { type: 'array', items: 'int' }, default: many(5_000, () => []) })),
  ],
]

test.each(kinds)(
  'the schemas %s that a decoder remembers take at most 32 MiB, and the newest is among them',
  async (_, make) => {
    const count = 120
    const schemaOf = async (id: number) =>
      JSON.parse(JSON.stringify(changedCommandSchema(({ fields }) => fields.push(...(make(id) as typeof fields)))))
    const decoder = createDecoder(schemas.command, { schemaOf, idOf: async () => 1 })
    await decoder.prepare(1)
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let id = 2; id <= count; id++) await decoder.prepare(id)
    collectGarbage()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(32 << 20)
    expect(decoder.decode(recordOf(count, []))).toMatchObject({ error: { code: 'TRUNCATED' } })
    expect(decoder.decode(recordOf(1, []))).toEqual({ ok: false, pending: 1 })
  },
)
