import * as zlib from 'node:zlib'
import { unpackLz4 } from './lz4.ts'
import { unpackSnappy } from './snappy.ts'
import { tooLarge, UnreadableBatch, unknownCodec } from './unreadable.ts'

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

/** Bytes of synchronous work after which the event loop goes on. */
export const stretchBytes = 1024 * 1024

/**
 * Most bytes that are decompressed synchronously by zlib. Handing a batch to a thread costs ten times the decompression of a small
 * batch.
 */
const small = { packed: 64 * 1024, unpacked: stretchBytes }

/** Clients write one frame per batch. A frame costs up to a millisecond even if it is tiny. */
const mostFrames = 16

/** First guess of the expansion; the output buffer then seldom needs to be copied. */
const usualExpansion = 16

export const codecNumbers = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const

/** Decompresses one codec to at most `most` bytes, in time proportional to the compressed and decompressed bytes. */
interface Unpacker {
  unpack(bytes: Buffer, most: number): Buffer
  unpackAside(bytes: Buffer, most: number): Promise<Buffer>
}

const unpackers: readonly (Unpacker | undefined)[] = [
  ownUnpacker(bytes => bytes),
  zlibUnpacker('gzip', zlib.gunzipSync, zlib.createGunzip),
  ownUnpacker(unpackSnappy),
  ownUnpacker(unpackLz4),
  zlibUnpacker('zstd', zlib.zstdDecompressSync, zlib.createZstdDecompress),
]

function unpackerOf(codec: number): Unpacker {
  const unpacker = unpackers[codec]
  if (!unpacker) throw unknownCodec(codec)
  return unpacker
}

/**
 * Decompresses a small batch synchronously.
 * @returns null if it is too large for that
 * @throws UnreadableBatch when the codec is unknown or the bytes are corrupt
 */
export function unpackSmall(codec: number, bytes: Buffer): Buffer | null {
  if (bytes.length > (codec === codecNumbers.none ? small.unpacked : small.packed)) return null
  try {
    return unpackerOf(codec).unpack(bytes, small.unpacked)
  } catch (error) {
    if (error instanceof UnreadableBatch && error.code === 'BATCH_TOO_LARGE') return null
    throw error
  }
}

/**
 * Decompresses a batch of any size.
 * @throws UnreadableBatch when the codec is unknown, or the bytes are corrupt or decompress to more than `most`
 */
export async function unpackAside(codec: number, bytes: Buffer, most = largestBatch): Promise<Buffer> {
  return unpackerOf(codec).unpackAside(bytes, most)
}

function ownUnpacker(unpack: Unpacker['unpack']): Unpacker {
  return { unpack, unpackAside: async (bytes, most) => unpack(bytes, most) }
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
function zlibUnpacker(
  name: string,
  unpackSync: (bytes: Buffer, options: zlib.ZlibOptions & zlib.ZstdOptions) => Buffer,
  createStream: (options: { chunkSize: number }) => zlib.Gunzip | zlib.ZstdDecompress,
): Unpacker {
  return {
    unpack(bytes, most) {
      const frames: Buffer[] = []
      let left = most
      for (let rest = bytes; rest.length > 0 || frames.length === 0; ) {
        if (frames.length === mostFrames) throw tooManyFrames(name)
        const options = { maxOutputLength: Math.max(1, left), info: true } // Node's types lack `info`
        try {
          const { buffer, engine } = unpackSync(rest, options) as unknown as Unpacked
          frames.push(buffer)
          left -= buffer.length
          rest = rest.subarray(engine.bytesWritten)
        } catch (error) {
          throw explained(name, most, error)
        }
      }
      return frames.length === 1 ? frames[0]! : Buffer.concat(frames)
    },
    async unpackAside(bytes, most) {
      const parts: Buffer[] = []
      const chunkSize = Math.min(Math.max(usualExpansion * bytes.length, stretchBytes), usualExpansion * stretchBytes)
      let left = most
      let frames = 0
      for (let rest = bytes; rest.length > 0 || frames === 0; frames++) {
        if (frames === mostFrames) throw tooManyFrames(name)
        const stream = createStream({ chunkSize })
        stream.end(rest)
        try {
          for await (const part of stream) {
            parts.push(part)
            left -= part.length
            if (left < 0) throw tooLarge(most)
          }
        } catch (error) {
          throw explained(name, most, error)
        }
        rest = rest.subarray(stream.bytesWritten)
      }
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    },
  }
}

function tooManyFrames(name: string): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', `its ${name} has more than ${mostFrames} frames`)
}

function explained(name: string, most: number, error: unknown): UnreadableBatch {
  if (error instanceof UnreadableBatch) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(most)
  return new UnreadableBatch('BATCH_CORRUPT', `it is not valid ${name}: ${message}`)
}

/** Level 1: higher levels cost twice the CPU and save nothing (docs/decisions/011). */
const packs: Partial<Record<number, (bytes: Buffer) => Buffer>> = {
  [codecNumbers.gzip]: bytes => zlib.gzipSync(bytes, { level: 1 }),
  [codecNumbers.zstd]: bytes =>
    zlib.zstdCompressSync(bytes, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } }),
}

/** @param codec number of a codec that busgate writes, not `none` */
export function pack(codec: number, bytes: Buffer): Buffer {
  const own = packs[codec]
  if (!own) throw new Error(`codec ${codec} can be read, but not written`)
  return own(bytes)
}
