import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroTypeOf, wellFormed } from '../../src/records/avro.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { writeResultBytes } from '../../src/records/result-bytes.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildResult } from '../support/results.ts'
import { anyResult } from './any-result.ts'

const resultType = avroTypeOf(schemas.result)

test('any result has the same bytes as written by avsc', () => {
  const buffer = Buffer.alloc(16 * 1024)
  fc.assert(
    fc.property(anyResult, fc.nat(100), (result, start) => {
      const end = writeResultBytes(result, buffer, start)
      expect(buffer.subarray(start, end).equals(resultType.toBuffer(wellFormed(result)))).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('a result that does not fit into a buffer returns the missing bytes, and nothing is written beyond the buffer', () => {
  fc.assert(
    fc.property(anyResult, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (result, part) => {
      const { length } = resultType.toBuffer(wellFormed(result))
      const whole = Buffer.alloc(length + 8, 0xee)
      const room = whole.subarray(0, Math.floor(length * part))
      expect(writeResultBytes(result, room, 0)).toBe(room.length - length)
      expect(whole.subarray(room.length).every(byte => byte === 0xee)).toBe(true)
    }),
  )
})

test('a result that does not fit into the current buffer is written to the next one', async () => {
  const encode = await createEncoder<SendResult>('any', schemas.result, embeddedRegistry(), writeResultBytes)
  for (const length of [10, 30_000, 40_000, 200_000, 10]) {
    const result = buildResult({ payload: 'й'.repeat(length) })
    expect(
      encode(result)
        .subarray(5)
        .equals(resultType.toBuffer(wellFormed(result))),
    ).toBe(true)
  }
})

test('a result may end anywhere in a buffer', () => {
  const result = buildResult({ price: 0.25, payload: 'text', msgId: 'gw-1' })
  const bytes = resultType.toBuffer(wellFormed(result))
  for (let room = 0; room <= bytes.length; room++) {
    const end = writeResultBytes(result, Buffer.alloc(room), 0)
    expect(end).toBe(room < bytes.length ? room - bytes.length : room)
  }
})
