/** Castagnoli's polynomial, bit-reversed. Node's zlib has only the crc32 of zip. */
const polynomial = 0x82f63b78
const slices = 16

/** Table s maps a byte that is followed by s bytes to its part of the checksum; one table after the other. */
const tables = new Int32Array(slices * 256)
for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
  tables[byte] = crc
}
for (let i = 256; i < tables.length; i++) {
  const before = tables[i - 256]!
  tables[i] = (before >>> 8) ^ tables[before & 0xff]!
}

/** Shorter ones are not worth a view of their words. */
const leastForWords = 64

/**
 * CRC-32C as an unsigned number. Slicing by sixteen, in words: at least as fast as by eight in bytes, and 1.4 times at 10 KB.
 * The one of @platformatic/kafka is faster there, but slower below 1 KB, and needs a WebAssembly file.
 */
export function crc32c(bytes: Buffer): number {
  if (bytes.length < leastForWords) return ~ofBytes(bytes, 0, bytes.length, -1) >>> 0
  const start = -bytes.byteOffset & 3
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, ((bytes.length - start) >>> 4) * 4)
  const crc = ofWords(words, ofBytes(bytes, 0, start, -1))
  return ~ofBytes(bytes, start + words.byteLength, bytes.length, crc) >>> 0
}

function ofBytes(bytes: Buffer, from: number, end: number, before: number): number {
  let crc = before
  for (let i = from; i < end; i++) crc = tables[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8)
  return crc
}

/** @param words a multiple of four of them, little-endian */
function ofWords(words: Int32Array, before: number): number {
  let crc = before
  for (let i = 0; i < words.length; i += 4)
    crc = after(12, crc ^ words[i]!) ^ after(8, words[i + 1]!) ^ after(4, words[i + 2]!) ^ after(0, words[i + 3]!)
  return crc
}

/** The part of a word that is followed by this number of bytes. */
const after = (bytes: number, word: number): number =>
  tables[(bytes + 3) * 256 + (word & 0xff)]! ^
  tables[(bytes + 2) * 256 + ((word >>> 8) & 0xff)]! ^
  tables[(bytes + 1) * 256 + ((word >>> 16) & 0xff)]! ^
  tables[bytes * 256 + (word >>> 24)]!
