import { gzipSync, zstdCompressSync } from 'node:zlib'
import { buildBatch, varint } from './batches.ts'

/*
 * Batches of at most 1 MiB that a broker accepts, and that cost a careless reader seconds of CPU or GiB of memory. Their
 * timestamp is now, so that retention does not delete them before the test reads them.
 */

const MiB = 1024 * 1024
const nothing = Buffer.alloc(0)

/** Repeats bytes. */
const many = (count: number, unit: Buffer) => Buffer.alloc(count * unit.length, unit)

/** Builds a batch of one record. @param change replaces its bytes */
const batchOf = (codec: number, change: (record: Buffer) => Buffer, value: string | Buffer = 'x') =>
  buildBatch([{ offset: 0, key: null, value }], { codec, packed: change, firstTimestamp: Date.now() })

const lz4Head = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x40, 0x70, 0])
const lz4End = Buffer.alloc(4)

function lz4Block(bytes: Buffer, isStored: boolean): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length + (isStored ? 0x80000000 : 0))
  return Buffer.concat([length, bytes])
}

/** 4 MB, in runs of 273 bytes. */
const lz4Runs = () =>
  Buffer.concat([Buffer.from([0x1f, 65, 1, 0, 254]), many(15_000, Buffer.from([0x0f, 1, 0, 254])), Buffer.from([0])])

const xerialHead = Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0, 0, 0, 0, 1, 0, 0, 0, 1])
const emptyXerialBlock = Buffer.from([0, 0, 0, 1, 0])

function xerialLiteral(bytes: Buffer): Buffer {
  const block = Buffer.concat([Buffer.from([bytes.length, (bytes.length - 1) << 2]), bytes])
  return Buffer.concat([Buffer.from([0, 0, 0, block.length]), block])
}

/** Records without key and value. */
function smallestRecords(count: number): Buffer {
  const bytes = Buffer.alloc(10 * count)
  let at = 0
  for (let i = 0; i < count; i++) {
    const delta = varint(i)
    at += Buffer.concat([varint(delta.length + 5), Buffer.from([0, 0]), delta, Buffer.from([1, 1, 0])]).copy(bytes, at)
  }
  return bytes.subarray(0, at)
}

const batchOfSmallest = (count: number) =>
  buildBatch([0], {
    last: count - 1,
    count,
    codec: 4,
    packed: () => zstdCompressSync(smallestRecords(count)),
    firstTimestamp: Date.now(),
  })

export const hostileBatches = {
  'zstd, 113,000 empty frames': () =>
    batchOf(4, record => Buffer.concat([zstdCompressSync(record), many(113_000, zstdCompressSync(nothing))])),
  'zstd, 125,000 frames to skip': () =>
    batchOf(4, record =>
      Buffer.concat([zstdCompressSync(record), many(125_000, Buffer.from('502a4d1800000000', 'hex'))]),
    ),
  'gzip, 50,000 empty members': () =>
    batchOf(1, record => Buffer.concat([gzipSync(record), many(50_000, gzipSync(nothing))])),
  'gzip, 64 MiB in 64 KB': () => batchOf(1, () => gzipSync(Buffer.alloc(64 * MiB))),
  'zstd, a value of 60 MiB in 2 KB': () => batchOf(4, zstdCompressSync, Buffer.alloc(60 * MiB, 1)),
  'LZ4, 200,000 empty blocks': () =>
    batchOf(3, record =>
      Buffer.concat([lz4Head, lz4Block(record, true), many(200_000, lz4Block(Buffer.alloc(1), false)), lz4End]),
    ),
  'LZ4, 60 MiB of runs in 960 KB': () =>
    batchOf(3, () => Buffer.concat([lz4Head, ...Array(15).fill(lz4Block(lz4Runs(), false)), lz4End])),
  'Snappy, 200,000 empty blocks': () =>
    batchOf(2, record => Buffer.concat([xerialHead, xerialLiteral(record), many(200_000, emptyXerialBlock)])),
  'Snappy, 52,000 empty streams': () =>
    batchOf(2, record =>
      Buffer.concat([xerialHead, xerialLiteral(record), many(50_000, Buffer.concat([xerialHead, emptyXerialBlock]))]),
    ),
  'Snappy, 22 MiB of copies': () =>
    batchOf(2, () =>
      Buffer.concat([Buffer.from([0x81, 0x80, 0x80, 0x0b, 0, 65]), many(340_000, Buffer.from([0xfe, 1, 0]))]),
    ),
  'zstd, a million empty records': () => batchOfSmallest(1_000_000),
}
