/** Castagnoli's polynomial, bit-reversed. Node's zlib has only the crc32 of zip. */
const polynomial = 0x82f63b78
const slices = 8

/** Table s maps a byte that is followed by s bytes to its part of the checksum. */
const tables = Array.from({ length: slices }, () => new Int32Array(256))
for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
  tables[0]![byte] = crc
}
for (let slice = 1; slice < slices; slice++) {
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[slice - 1]![byte]!
    tables[slice]![byte] = (before >>> 8) ^ tables[0]![before & 0xff]!
  }
}
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
]

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
      t7[low & 0xff]! ^
      t6[(low >>> 8) & 0xff]! ^
      t5[(low >>> 16) & 0xff]! ^
      t4[low >>> 24]! ^
      t3[bytes[i + 4]!]! ^
      t2[bytes[i + 5]!]! ^
      t1[bytes[i + 6]!]! ^
      t0[bytes[i + 7]!]!
  }
  for (; i < bytes.length; i++) crc = t0[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}
