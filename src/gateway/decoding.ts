import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'

export type DecodedBody = { text: string } | { trouble: 'too_large' | 'unreadable' }

type Unpack = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer

/** Some servers compress regardless of Accept-Encoding. */
const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflate,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/**
 * Decodes a body by its Content-Encoding and the charset of its Content-Type; removes a byte order mark.
 * @param limit most bytes after decompression
 */
export function decodeBody(body: Buffer, encoding: string, contentType: string, limit: number): DecodedBody {
  // listed in the order in which they were applied
  const codings = encoding.toLowerCase().split(',').reverse()
  try {
    const bytes = codings.reduce((packed, coding) => {
      const unpack = unpackers[coding.trim()]
      return unpack && packed.length > 0 ? unpack(packed, { maxOutputLength: limit }) : packed
    }, body)
    return { text: decoderOf(contentType).decode(bytes) }
  } catch (error) {
    return { trouble: (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'unreadable' }
  }
}

/** Inflates with or without a zlib wrapper; some servers omit it. */
function inflate(bytes: Buffer, options: { maxOutputLength: number }): Buffer {
  const isWrapped = (bytes[0]! & 0x0f) === 8 && bytes.length > 1 && bytes.readUInt16BE(0) % 31 === 0
  return isWrapped ? inflateSync(bytes, options) : inflateRawSync(bytes, options)
}

/** UTF-8 unless Content-Type names another known charset. */
function decoderOf(contentType: string): InstanceType<typeof TextDecoder> {
  const charset = /;\s*charset\s*=\s*["']?([^"';\s]+)/i.exec(contentType)?.[1]
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
