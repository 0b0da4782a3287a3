import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'

export type DecodedBody = { text: string } | { trouble: 'too_large' | 'unreadable' }

type Unpack = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer

/** Some servers compress whatever they are asked for. */
const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflate,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/**
 * The text of a body, as its Content-Encoding and the charset of its Content-Type say, without a byte order mark.
 * @param limit the most bytes that it may unpack to
 */
export function decodeBody(body: Buffer, encoding: string, contentType: string, limit: number): DecodedBody {
  // Listed in the order in which they were applied.
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

/** Some servers leave out what zlib puts around the data. */
function inflate(bytes: Buffer, options: { maxOutputLength: number }): Buffer {
  const isWrapped = (bytes[0]! & 0x0f) === 8 && bytes.length > 1 && bytes.readUInt16BE(0) % 31 === 0
  return isWrapped ? inflateSync(bytes, options) : inflateRawSync(bytes, options)
}

/** JSON is UTF-8 unless somebody says otherwise in words that are known. */
function decoderOf(contentType: string): InstanceType<typeof TextDecoder> {
  const charset = /;\s*charset\s*=\s*["']?([^"';\s]+)/i.exec(contentType)?.[1]
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
