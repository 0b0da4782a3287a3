import { createRequire } from 'node:module'
import fc from 'fast-check'
import type { Message } from 'kafkajs'
import { expect, it } from 'vitest'
import { encodeRecords } from '../../src/bus/batches/records-encoding.ts'

const require = createRequire(import.meta.url)
/** kafkajs's own encoding of one record. */
const encodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0') as (record: object) => { buffer: Buffer }

const bytes = fc.uint8Array({ maxLength: 9000 }).map(array => Buffer.from(array))
const small = fc.oneof(
  fc.uint8Array({ maxLength: 70 }).map(array => Buffer.from(array)),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
)
const headers = fc.dictionary(fc.string({ maxLength: 70 }), fc.oneof(small, fc.array(small, { maxLength: 3 })), {
  maxKeys: 4,
  noNullPrototype: true,
})
const message = fc.record(
  { key: fc.option(small), value: fc.option(fc.oneof(bytes, small)), headers },
  { requiredKeys: ['key', 'value'] },
) as fc.Arbitrary<Message>

it('encodes records to the bytes that kafkajs encodes them to', () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 90 }), messages => {
      const expected = messages.map((one, offsetDelta) => encodeRecord({ ...one, offsetDelta }).buffer)
      expect(encodeRecords(messages).equals(Buffer.concat(expected))).toBe(true)
    }),
    { numRuns: 200 },
  )
})
