import * as zlib from 'node:zlib'
import { unpackLz4 } from './lz4.ts'
import { unpackSnappy } from './snappy.ts'
import { tooLarge, UnreadableBatch } from './unreadable.ts'

/** Codecs that busgate writes with. */
export type Compression = 'none' | 'gzip' | 'zstd'

/** Smaller batches are not compressed: they would hardly shrink. */
export const leastCompressed = 1024

/**
 * Most bytes that one batch may decompress to. Brokers bound only the compressed size (message.max.bytes, 1 MiB by default),
 * and 1 MiB of gzip can hold 1 GiB. Producers bound the uncompressed size by 1 MiB, or by their estimate of what compresses
 * to 1 MiB.
 */
export const largestBatch = 64 * 1024 * 1024

/** Clients write one frame per batch. A frame costs up to a millisecond even if it is tiny. */
const mostFrames = 16

export const codecNumbers = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const

/** Decompresses one codec to at most `most` bytes, in time proportional to the compressed and decompressed bytes. */
type Unpack = (bytes: Buffer, most: number) => Buffer

const unpackers: readonly (Unpack | undefined)[] = [
  bytes => bytes,
  framesUnpacker('gzip', zlib.gunzipSync),
  unpackSnappy,
  unpackLz4,
  framesUnpacker('zstd', zlib.zstdDecompressSync),
]

/**
 * Decompresses a batch. Handing a small batch to a thread would cost ten times its decompression.
 * @throws UnreadableBatch when the codec is unknown, or the bytes are corrupt or decompress to more than `most`
 */
export function unpack(codec: number, bytes: Buffer, most = largestBatch): Buffer {
  const unpacker = unpackers[codec]
  if (!unpacker) throw new UnreadableBatch('CODEC_UNKNOWN', `it is compressed with the unknown codec ${codec}`)
  return unpacker(bytes, most)
}

interface Unpacked {
  buffer: Buffer
  /** `bytesWritten`: input bytes that the frame consumed. */
  engine: { bytesWritten: number }
}

/**
 * Wraps a zlib codec. Node decompresses all members of a gzip, but only the first frame of a zstd, and ignores the bytes
 * after it.
 */
function framesUnpacker(
  name: string,
  unpackFrame: (bytes: Buffer, options: zlib.ZlibOptions & zlib.ZstdOptions) => Buffer,
): Unpack {
  return (bytes, most) => {
    const frames: Buffer[] = []
    let left = most
    for (let rest = bytes; rest.length > 0 || frames.length === 0; ) {
      if (frames.length === mostFrames) {
        throw new UnreadableBatch('BATCH_CORRUPT', `its ${name} has more than ${mostFrames} frames`)
      }
      const options = { maxOutputLength: Math.max(1, left), info: true } // Node's types lack `info`
      try {
        const { buffer, engine } = unpackFrame(rest, options) as unknown as Unpacked
        frames.push(buffer)
        left -= buffer.length
        rest = rest.subarray(engine.bytesWritten)
      } catch (error) {
        throw explained(name, most, error as NodeJS.ErrnoException)
      }
    }
    return frames.length === 1 ? frames[0]! : Buffer.concat(frames)
  }
}

function explained(name: string, most: number, { code, message }: NodeJS.ErrnoException): UnreadableBatch {
  if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(most)
  return new UnreadableBatch('BATCH_CORRUPT', `it is not valid ${name}: ${message}`)
}

/** Compresses at level 1: higher levels cost twice the CPU and save nothing (docs/decisions/011). */
export function pack(codec: Exclude<Compression, 'none'>, bytes: Buffer): Buffer {
  return codec === 'gzip'
    ? zlib.gzipSync(bytes, { level: 1 })
    : zlib.zstdCompressSync(bytes, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } })
}
