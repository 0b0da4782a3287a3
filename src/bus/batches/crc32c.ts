/** Castagnoli's polynomial, bit-reversed. Node's zlib has only the crc32 of zip. */
const polynomial = 0x82f63b78
const slices = 8

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

/**
 * CRC-32C as an unsigned number. Slicing by eight is three times as fast as a byte at a time. The one of @platformatic/kafka
 * is three times faster at 10 KB and slower below 1 KB, and needs a WebAssembly file.
 */
export function crc32c(bytes: Buffer): number {
  const even = bytes.length - (bytes.length % slices)
  let crc = -1
  let i = 0
  for (; i < even; i += slices) {
    const low = crc ^ (bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24))
    crc =
      tables[1792 + (low & 0xff)]! ^
      tables[1536 + ((low >>> 8) & 0xff)]! ^
      tables[1280 + ((low >>> 16) & 0xff)]! ^
      tables[1024 + (low >>> 24)]! ^
      tables[768 + bytes[i + 4]!]! ^
      tables[512 + bytes[i + 5]!]! ^
      tables[256 + bytes[i + 6]!]! ^
      tables[bytes[i + 7]!]!
  }
  for (; i < bytes.length; i++) crc = tables[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}
