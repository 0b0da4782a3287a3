import { OutputBuffer } from './output-buffer.ts'
import { tooLarge, UnreadableBatch } from './unreadable.ts'

/** Java's producers (snappy-java by xerial) write this mark, two 4-byte versions, and then blocks of 32 KiB. */
const xerialMark = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
const xerialHeader = xerialMark.length + 8
/** First guess of the expansion of xerial's framing. */
const framedExpansion = 4
/** One byte expands to at most this many: a copy of 64 bytes takes three. */
const longestExpansion = 22

/**
 * Decompresses Snappy in both framings that producers use: raw (a single block) and xerial's.
 * @throws UnreadableBatch when it is neither, or decompresses to more than `most` bytes
 */
export function unpackSnappy(bytes: Buffer, most: number): Buffer {
  const isFramed = isXerial(bytes, 0)
  const expected = isFramed ? framedExpansion * bytes.length : lengthOf(bytes, 0, most).value
  const output = new OutputBuffer(Math.min(expected, longestExpansion * bytes.length), most)
  if (!isFramed) {
    unpackBlock(bytes, 0, bytes.length, output, most)
    return output.bytes
  }
  for (let at = 0; at < bytes.length; ) {
    if (isXerial(bytes, at)) at += xerialHeader // several streams may be concatenated
    if (at >= bytes.length) break
    if (at + 4 > bytes.length) throw corrupt('a block has no length')
    const begin = at + 4
    at = begin + bytes.readUInt32BE(at)
    if (at > bytes.length) throw corrupt('a block is cut off')
    unpackBlock(bytes, begin, at, output, most)
  }
  return output.bytes
}

function isXerial(bytes: Buffer, at: number): boolean {
  return bytes[at] === xerialMark[0] && bytes.subarray(at, at + xerialMark.length).equals(xerialMark)
}

/** Reads the decompressed length in front of a block, and where the block begins. */
function lengthOf(bytes: Buffer, at: number, most: number): { value: number; begin: number } {
  let value = 0
  for (let i = 0; i < 5 && at + i < bytes.length; i++) {
    const byte = bytes[at + i]!
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte >= 0x80) continue
    if (value > most) throw tooLarge(most)
    return { value, begin: at + i + 1 }
  }
  throw corrupt('a block does not state its decompressed length')
}

/** https://github.com/google/snappy/blob/main/format_description.txt */
function unpackBlock(block: Buffer, from: number, end: number, output: OutputBuffer, most: number): void {
  const start = output.length
  const { value: stated, begin } = lengthOf(block, from, most)
  for (let at = begin; at < end; ) {
    const tag = block[at++]!
    const kind = tag & 3
    if (kind === 0) {
      let count = (tag >> 2) + 1
      if (count > 60) {
        const width = count - 60
        if (at + width > end) throw corrupt('a block is cut off')
        count = block.readUIntLE(at, width) + 1
        at += width
      }
      if (at + count > end || output.length - start + count > stated) throw corrupt('a block does not fit its length')
      output.append(block, at, count)
      at += count
      continue
    }
    const width = kind === 3 ? 4 : kind
    if (at + width > end) throw corrupt('a block is cut off')
    const count = kind === 1 ? 4 + ((tag >> 2) & 7) : (tag >> 2) + 1
    const distance = kind === 1 ? ((tag >> 5) << 8) | block[at]! : block.readUIntLE(at, width)
    if (output.length - start + count > stated) throw corrupt('a block does not fit its length')
    output.repeat(distance, count, start)
    at += width
  }
  if (output.length - start !== stated) throw corrupt('a block does not fit its length')
}

function corrupt(what: string): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', `it is not valid Snappy: ${what}`)
}
