import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { unpackLz4 } from './lz4.ts'
import { unpackSnappy } from './snappy.ts'
import { tooLarge, UnreadableBatch, unknownCodec } from './unreadable.ts'

/** The codecs of what busgate itself writes. */
export type Compression = 'none' | 'gzip' | 'zstd'

/** Fewer bytes are sent as they are: they would not become much smaller. */
export const leastCompressed = 1024

/**
 * Most bytes that one batch may unpack to. Brokers bound only what it is packed to (message.max.bytes, 1 MiB by default),
 * and a gzip of 1 MiB can hold a GiB. Producers bound their batches before packing, by 1 MiB or by what they guess 1 MiB
 * to have been.
 */
export const largestBatch = 64 * 1024 * 1024

/** The numbers of the codecs in a batch's attributes. */
export const codecNumbers = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const

type Unpack = (bytes: Buffer, most: number) => Buffer

/**
 * The unpackers by their numbers. All of them work at once: handing a batch to a thread costs ten times what
 * unpacking one of usual size does.
 */
const unpacks: readonly (Unpack | undefined)[] = [
  bytes => bytes,
  (bytes, most) => explained('gzip', most, () => zlib.gunzipSync(bytes, { maxOutputLength: most })),
  unpackSnappy,
  unpackLz4,
  unpackZstd,
]

/** @throws UnreadableBatch when the codec is unknown, the bytes are not its own, or unpack to more than `most` */
export function unpack(codec: number, bytes: Buffer, most = largestBatch): Buffer {
  const own = unpacks[codec]
  if (!own) throw unknownCodec(codec)
  return own(bytes, most)
}

const gunzip = promisify(zlib.gunzip)
const leastChunk = 16 * 1024
const mostChunk = 1024 * 1024

/**
 * Serves whoever looks at the bytes once and lets them go: gzip is unpacked beside the main thread, into as much room as its
 * end says that it takes. Records that are kept would keep that room, whatever a hostile producer claims.
 * @throws UnreadableBatch as `unpack`
 */
export async function unpackOnce(codec: number, bytes: Buffer, most = largestBatch): Promise<Buffer> {
  if (codec !== codecNumbers.gzip || bytes.length < 4) return unpack(codec, bytes, most)
  const length = bytes.readUInt32LE(bytes.length - 4)
  const chunkSize = Math.min(Math.max(length + 64, leastChunk), mostChunk)
  try {
    return await gunzip(bytes, { maxOutputLength: most, chunkSize })
  } catch {
    return unpack(codec, bytes, most)
  }
}

/** Node unpacks the first frame and says nothing of others behind it. */
function unpackZstd(bytes: Buffer, most: number): Buffer {
  const frames: Buffer[] = []
  let left = most
  for (let rest = bytes; rest.length > 0 || frames.length === 0; ) {
    const { buffer, engine } = explained('zstd', most, () => unpackFrame(rest, Math.max(1, left)))
    frames.push(buffer)
    left -= buffer.length
    rest = rest.subarray(engine.bytesWritten)
  }
  return frames.length === 1 ? frames[0]! : Buffer.concat(frames)
}

/** `info` is missing from the types of Node. `bytesWritten` is what the frame took of its input. */
function unpackFrame(bytes: Buffer, most: number): { buffer: Buffer; engine: { bytesWritten: number } } {
  const options = { maxOutputLength: most, info: true }
  return zlib.zstdDecompressSync(bytes, options) as unknown as ReturnType<typeof unpackFrame>
}

/** @throws UnreadableBatch for whatever zlib throws */
function explained<T>(codec: string, most: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(most)
    throw new UnreadableBatch('BATCH_CORRUPT', `it is no ${codec}, ${message}`)
  }
}

/** The packers, at level 1: higher ones cost twice as much and make results no smaller (docs/design.md). */
const packs: Partial<Record<number, (bytes: Buffer) => Buffer>> = {
  [codecNumbers.gzip]: bytes => zlib.gzipSync(bytes, { level: 1 }),
  [codecNumbers.zstd]: bytes =>
    zlib.zstdCompressSync(bytes, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } }),
}

/** @param codec the number of what busgate writes, but none */
export function pack(codec: number, bytes: Buffer): Buffer {
  const own = packs[codec]
  if (!own) throw new Error(`codec ${codec} can be read, but not written`)
  return own(bytes)
}
