import { randomBytes } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { lz4Compress, snappyCompress } from '@platformatic/wasm-utils'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unpack } from '../../src/bus/batches/codecs.ts'
import { UnreadableBatch } from '../../src/bus/batches/unreadable.ts'
import { type Packing, packingNames, packings } from '../support/batches.ts'

const MiB = 1024 * 1024

/** Content like that of batches: some bytes repeat, near or far, and some do not. */
const contents = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
      fc
        .record({ text: fc.string({ minLength: 1, maxLength: 40 }), times: fc.nat(3000) })
        .map(({ text, times }) => Buffer.from(text.repeat(times))),
    ),
    { maxLength: 12 },
  )
  .map(parts => Buffer.concat([...parts, ...parts]))

const packed = packingNames.filter(name => name !== 'none')

const unpackAs = (name: Packing, bytes: Buffer) => unpack(packings[name][0], bytes)

type Outcome = { bytes: Buffer } | { code: string }

/** Returns the bytes that `work` unpacks, or the code of its UnreadableBatch. */
function outcomeOf(work: () => Buffer): Outcome {
  try {
    return { bytes: work() }
  } catch (error) {
    if (error instanceof UnreadableBatch) return { code: error.code }
    throw error
  }
}

const outcome = (codec: number, bytes: Buffer, limit?: number) => outcomeOf(() => unpack(codec, bytes, limit))

describe.each(packed)('%s', name => {
  const [codec, pack] = packings[name]

  test('unpacks what was packed', () => {
    fc.assert(fc.property(contents, bytes => unpackAs(name, pack(bytes)).equals(bytes)))
  })

  test('unpacks incompressible bytes, few and many', () => {
    for (const size of [0, 1, 59, 60, 61, 255, 256, 257, 65_536, 300_000, 3 * MiB]) {
      const bytes = randomBytes(size)
      expect(unpackAs(name, pack(bytes)).equals(bytes)).toBe(true)
    }
  })

  test('unpacks up to as many bytes as allowed, and refuses more', () => {
    const bytes = Buffer.alloc(MiB, 'repeated ')
    expect(outcome(codec, pack(bytes), MiB)).toEqual({ bytes })
    expect(outcome(codec, pack(bytes), MiB - 1)).toEqual({ code: 'BATCH_TOO_LARGE' })
  })

  test('reads or refuses damaged bytes, and never unpacks more than allowed', () => {
    const damaged = fc.tuple(
      contents,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      fc.nat(),
    )
    fc.assert(
      fc.property(damaged, ([bytes, changes, cut]) => {
        const whole = Buffer.from(pack(bytes))
        for (const [at, byte] of changes) if (whole.length > 0) whole[at % whole.length] = byte
        for (const some of [whole, whole.subarray(0, cut % (whole.length + 1))]) {
          const result = outcome(codec, some, 20_000)
          if ('bytes' in result) expect(result.bytes.length).toBeLessThanOrEqual(20_000)
          else expect(['BATCH_CORRUPT', 'BATCH_TOO_LARGE']).toContain(result.code)
        }
      }),
    )
  })
})

describe('a compression bomb of a few KB is refused early', () => {
  const zeros = Buffer.alloc(64 * MiB)

  /** Snappy that claims 1 GB, and LZ4 of runs of 4 MB. */
  const claimsGigabyte = Buffer.concat([Buffer.from([0x80, 0x80, 0x80, 0x80, 0x04]), Buffer.alloc(4000, 0xfe)])
  const run = Buffer.concat([Buffer.from([0x1f, 0, 1, 0]), Buffer.alloc(16_000, 255), Buffer.from([0])])
  const runLength = Buffer.alloc(4)
  runLength.writeUInt32LE(run.length)
  const frame = [Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x40, 0x70, 0]), ...Array(20).fill([runLength, run]).flat()]

  test.each<[string, number, () => Buffer]>([
    ['gzip', 1, () => Buffer.concat(Array(17).fill(gzipSync(zeros)))],
    ['snappy', 2, () => claimsGigabyte],
    ['lz4', 3, () => Buffer.concat(frame)],
    ['zstd', 4, () => zstdCompressSync(Buffer.alloc(256 * MiB))],
    ['zstd of many frames', 4, () => Buffer.concat(Array(17).fill(zstdCompressSync(zeros)))],
  ])(
    'with %s',
    (_name, codec, bomb) => {
      const bytes = bomb()
      const before = process.memoryUsage().rss
      expect(outcome(codec, bytes)).toEqual({ code: 'BATCH_TOO_LARGE' })
      expect(process.memoryUsage().rss - before).toBeLessThan(300 * MiB)
    },
    20_000,
  )
})

describe('unpacking', () => {
  test('reads LZ4 with linked blocks and checksums of blocks and content', () => {
    // written by the reference implementation (python-lz4 4.3): block_linked, 64 KiB blocks, level 9
    const rest = `YUGJjZGVmU95enEIAAAAPEAD${'/'.repeat(74)}6BQYmNkZWZLCvHsAAAAAB/6j8s=`
    const frame = Buffer.from(`BCJNGFRArhsBAAD/ATAxMjM0NTY3ODlhYmNkZWYQAP${'/'.repeat(341)}${rest}`, 'base64')
    expect(unpack(3, frame).equals(Buffer.from('0123456789abcdef'.repeat(5000)))).toBe(true)
  })

  test('reads LZ4 with the wrong header checksum of old Java producers', () => {
    const frame = Buffer.from(lz4Compress(Buffer.from('a value '.repeat(20))))
    frame[6]! ^= 0xff
    expect(String(unpack(3, frame))).toBe('a value '.repeat(20))
  })

  test('reads LZ4 that claims an impossible size, without allocating it', () => {
    const size = Buffer.alloc(8)
    size.writeBigUInt64LE(BigInt(60 * MiB))
    const head = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x48, 0x40])
    const frame = Buffer.concat([head, size, Buffer.from([0, 1, 0, 0, 0x80]), Buffer.from('x'), Buffer.alloc(4)])
    const unpacked = unpack(3, frame)
    expect(unpacked.toString()).toBe('x')
    expect(unpacked.buffer.byteLength).toBeLessThan(MiB)
  })

  test('reads zstd and gzip in several frames', () => {
    for (const [codec, pack] of [packings.zstd, packings.gzip]) {
      const frames = Buffer.concat(['one ', 'two'].map(text => pack(Buffer.from(text))))
      expect(String(unpack(codec, frames))).toBe('one two')
    }
  })

  test('reads several Java streams of Snappy in a row', () => {
    const [, pack] = packings['xerial snappy']
    const streams = Buffer.concat(['one ', 'two'].map(text => pack(Buffer.from(text))))
    expect(String(unpack(2, streams))).toBe('one two')
  })

  test('reads Snappy with copies of all three widths', () => {
    const literal = Buffer.from([(60 - 1) << 2, ...Buffer.from('x'.repeat(59)), 0x79])
    const copies = Buffer.from([0b000_000_01, 1, (63 << 2) | 2, 60, 0, (9 << 2) | 3, 1, 0, 0, 0])
    const block = Buffer.concat([Buffer.from([60 + 4 + 64 + 10, 1]), literal, copies])
    const text = `${'x'.repeat(59)}y`
    const once = `${text}yyyy`
    const twice = once + once.slice(-60) + once.slice(-60).slice(0, 4)
    expect(String(unpack(2, block))).toBe(twice + twice.at(-1)!.repeat(10))
  })

  test('refuses an unknown codec and names its number', () => {
    for (const codec of [5, 6, 7]) {
      const error = { code: 'CODEC_UNKNOWN', message: expect.stringContaining(String(codec)) }
      expect(() => unpack(codec, snappyCompress(Buffer.from('x')))).toThrow(expect.objectContaining(error))
    }
  })
})
