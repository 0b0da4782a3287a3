import * as zlib from 'node:zlib'
import { Inflated } from './inflated.ts'
import { unpackLz4 } from './lz4.ts'
import { unpackSnappy } from './snappy.ts'
import { atOnce, type Steps, stretchBytes, withRests } from './steps.ts'
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

/** Most bytes that are unpacked at once. To hand a batch to a thread costs ten times what a small one takes to unpack. */
const small = { packed: 64 * 1024, unpacked: stretchBytes }

/** Clients write one frame a batch. Each costs up to a millisecond, however few its bytes. */
const mostFrames = 16

/** Room for so many times what is packed is made at once: nothing needs to be copied then. */
const usualExpansion = 16

/** The numbers of the codecs in a batch's attributes. */
export const codecNumbers = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const

/** Unpacker unpacks the bytes of one codec to no more than `most`. What that costs grows with the bytes, packed and unpacked, and nothing else. */
interface Unpacker {
  unpack(bytes: Buffer, most: number): Buffer
  /** Unpacks while the event loop goes on. */
  unpackAside(bytes: Buffer, most: number): Promise<Buffer>
}

const unpackers: readonly (Unpacker | undefined)[] = [
  { unpack: bytes => bytes, unpackAside: async bytes => bytes },
  zlibUnpacker('gzip', zlib.gunzipSync, zlib.createGunzip),
  steppedUnpacker(unpackSnappy),
  steppedUnpacker(unpackLz4),
  zlibUnpacker('zstd', zlib.zstdDecompressSync, zlib.createZstdDecompress),
]

function unpackerOf(codec: number): Unpacker {
  const unpacker = unpackers[codec]
  if (!unpacker) throw unknownCodec(codec)
  return unpacker
}

/**
 * Unpacks a small batch.
 * @returns null: it is too large to be unpacked at once
 * @throws UnreadableBatch when the codec is unknown, or the bytes are not its own
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
 * Unpacks a batch of any size while the event loop goes on.
 * @throws UnreadableBatch when the codec is unknown, the bytes are not its own, or unpack to more than `most`
 */
export async function unpackAside(codec: number, bytes: Buffer, most = largestBatch): Promise<Buffer> {
  return unpackerOf(codec).unpackAside(bytes, most)
}

function steppedUnpacker(unpack: (bytes: Buffer, most: number) => Steps<Buffer>): Unpacker {
  return {
    unpack: (bytes, most) => atOnce(unpack(bytes, most)),
    unpackAside: async (bytes, most) => withRests(unpack(bytes, most)),
  }
}

interface Unpacked {
  buffer: Buffer
  /** `bytesWritten` is what the frame took of its input. */
  engine: { bytesWritten: number }
}

/** A codec of Node, which unpacks the members of gzip, but of zstd one frame: it says nothing of others behind it. */
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
        const options = { maxOutputLength: Math.max(1, left), info: true } // `info` is missing from the types of Node
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
      return parts.length === 1 ? parts[0]! : withRests(joined(parts, most - left))
    },
  }
}

function* joined(parts: readonly Buffer[], length: number): Steps<Buffer> {
  const inflated = new Inflated(length, length)
  for (const part of parts) {
    for (let at = 0; at < part.length; at += stretchBytes) {
      inflated.append(part, at, Math.min(stretchBytes, part.length - at))
      yield
    }
  }
  return inflated.bytes
}

function tooManyFrames(name: string): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', `its ${name} has more than ${mostFrames} frames`)
}

function explained(name: string, most: number, error: unknown): UnreadableBatch {
  if (error instanceof UnreadableBatch) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(most)
  return new UnreadableBatch('BATCH_CORRUPT', `it is no ${name}, ${message}`)
}

/** The packers, at level 1: higher ones cost twice as much and make results no smaller (decision 011). */
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
