import { describe, expect, test } from 'vitest'
import { WireReader, WireWriter } from '../../../src/bus/wire/fields.ts'

describe.each([false, true])('fields (of a flexible version: %s)', flexible => {
  test.each(Array.from({ length: 40 }, (_, i) => 230 + i))('survive where memory ends, at %i bytes', before => {
    const to = new WireWriter(flexible).buffer(Buffer.alloc(before, 1))
    to.int8(-1)
      .int16(-2)
      .int32(-3)
      .int64(2n ** 53n - 1n)
      .int64(-4)
      .boolean(true)
      .uvarint(300)
      .string('größe')
      .string(null)
    to.buffer(Buffer.from('bytes'))
      .buffer(null)
      .values([1, 2], one => to.int32(one))
    to.array(['a', 'b'], one => void to.string(one))
      .array(null, () => {})
      .tags()
    const from = new WireReader(to.bytes, flexible)
    expect(from.buffer()).toEqual(Buffer.alloc(before, 1))
    expect([from.int8(), from.int16(), from.int32(), from.int64(), from.int64()]).toEqual([-1, -2, -3, 2 ** 53 - 1, -4])
    expect([from.boolean(), from.uvarint(), from.string(), from.nullableString()]).toEqual([true, 300, 'größe', null])
    expect([from.buffer()?.toString(), from.buffer(), from.values(() => from.int32())]).toEqual(['bytes', null, [1, 2]])
    expect([from.array(() => from.string()), from.array(() => 1)]).toEqual([['a', 'b'], []])
    expect(from.tags()).toBe(from)
  })

  test('that are not all there are an error', () => {
    const { bytes } = new WireWriter(flexible).string('something')
    expect(() => new WireReader(bytes.subarray(0, 5), flexible).string()).toThrow(RangeError)
  })
})

test('a number above 2^31 is a varint of five bytes', () => {
  const to = new WireWriter(true).uvarint(2 ** 32 - 1)
  expect(to.bytes).toEqual(Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]))
  expect(new WireReader(to.bytes, true).uvarint()).toBe(2 ** 32 - 1)
})

test('tags that nobody knows are passed over', () => {
  const bytes = Buffer.from([2, 0, 1, 9, 5, 2, 9, 9, 7])
  const from = new WireReader(bytes, true)
  expect(from.tags().int8()).toBe(7)
})
