import { Inflated } from './inflated.ts'
import { packedWeight, type Steps, stretchBytes } from './steps.ts'
import { tooLarge, UnreadableBatch } from './unreadable.ts'

/** Java's producers (snappy-java, by xerial) write blocks of 32 KiB behind this mark and two versions, in 4 bytes each. */
const xerialMark = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
const xerialHeader = xerialMark.length + 8
/** Room that is made at once, for each byte of xerial's framing. */
const framedExpansion = 4
/** One byte stands for no more than this: a copy of 64 bytes takes three. */
const longestExpansion = 22

/**
 * Unpacks Snappy in either of the framings that producers use: raw, one block as it is, or xerial's; yields after each
 * stretch of work.
 * @throws UnreadableBatch when it is neither, or holds more than `most` bytes
 */
export function* unpackSnappy(bytes: Buffer, most: number): Steps<Buffer> {
  const isFramed = isXerial(bytes, 0)
  const expected = isFramed ? framedExpansion * bytes.length : lengthOf(bytes, 0, most).value
  const inflated = new Inflated(Math.min(expected, longestExpansion * bytes.length), most)
  if (!isFramed) {
    yield* unpackBlock(bytes, 0, bytes.length, inflated, most)
    return inflated.bytes
  }
  for (let at = 0, restsAt = stretchBytes; at < bytes.length; ) {
    if (isXerial(bytes, at)) at += xerialHeader // streams may follow each other
    if (at >= bytes.length) break
    if (at + 4 > bytes.length) throw corrupt('a block has no length')
    const begin = at + 4
    at = begin + bytes.readUInt32BE(at)
    if (at > bytes.length) throw corrupt('a block is cut off')
    yield* unpackBlock(bytes, begin, at, inflated, most)
    if (packedWeight * at + inflated.length < restsAt) continue
    yield
    restsAt = packedWeight * at + inflated.length + stretchBytes
  }
  return inflated.bytes
}

function isXerial(bytes: Buffer, at: number): boolean {
  return bytes[at] === xerialMark[0] && bytes.subarray(at, at + xerialMark.length).equals(xerialMark)
}

/** The length that a block states in front of itself, and where it begins. */
function lengthOf(bytes: Buffer, at: number, most: number): { value: number; begin: number } {
  let value = 0
  for (let i = 0; i < 5 && at + i < bytes.length; i++) {
    const byte = bytes[at + i]!
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte >= 0x80) continue
    if (value > most) throw tooLarge(most)
    return { value, begin: at + i + 1 }
  }
  throw corrupt('a block does not say how long it is')
}

/** https://github.com/google/snappy/blob/main/format_description.txt */
function* unpackBlock(block: Buffer, from: number, end: number, inflated: Inflated, most: number): Steps<void> {
  const start = inflated.length
  const { value: stated, begin } = lengthOf(block, from, most)
  let restsAt = start + stretchBytes
  for (let at = begin; at < end; ) {
    if (inflated.length >= restsAt) {
      yield
      restsAt = inflated.length + stretchBytes
    }
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
      if (at + count > end || inflated.length - start + count > stated) throw corrupt('a block does not fit its length')
      inflated.append(block, at, count)
      at += count
      continue
    }
    const width = kind === 3 ? 4 : kind
    if (at + width > end) throw corrupt('a block is cut off')
    const count = kind === 1 ? 4 + ((tag >> 2) & 7) : (tag >> 2) + 1
    const distance = kind === 1 ? ((tag >> 5) << 8) | block[at]! : block.readUIntLE(at, width)
    if (inflated.length - start + count > stated) throw corrupt('a block does not fit its length')
    inflated.repeat(distance, count, start)
    at += width
  }
  if (inflated.length - start !== stated) throw corrupt('a block does not fit its length')
}

function corrupt(what: string): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', `it is no Snappy, ${what}`)
}
