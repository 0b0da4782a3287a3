import * as zlib from 'node:zlib' // a Node that lacks some of these must link, so that supported-node.ts can refuse it

type DecodedBody = { text: string } | { trouble: 'too_large' | 'unreadable' }

type Unpack = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer

/** Some servers compress regardless of Accept-Encoding. */
const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: zlib.gunzipSync,
  deflate: zlib.inflateSync,
  br: zlib.brotliDecompressSync,
  zstd: zlib.zstdDecompressSync,
}

/**
 * Decodes a body by its Content-Encoding and the charset of its Content-Type; removes a byte order mark.
 * @param limit most bytes after decompression
 */
export function decodeBody(body: Buffer, encoding: string, contentType: string, limit: number): DecodedBody {
  const unpack = unpackers[encoding.toLowerCase()]
  try {
    const bytes = unpack && body.length > 0 ? unpack(body, { maxOutputLength: limit }) : body
    return { text: decoderOf(contentType).decode(bytes) }
  } catch (error) {
    return { trouble: (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'unreadable' }
  }
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
