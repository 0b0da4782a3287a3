import { Inflated } from './inflated.ts'
import { tooLarge, UnreadableBatch } from './unreadable.ts'

/** Java's producers (snappy-java, by xerial) write blocks of 32 KiB behind this mark and two versions, in 4 bytes each. */
const xerialMark = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
const xerialHeader = xerialMark.length + 8

/**
 * Unpacks Snappy in either of the framings that producers use: raw, one block as it is, or xerial's.
 * @throws UnreadableBatch when it is neither, or holds more than `most` bytes
 */
export function unpackSnappy(bytes: Buffer, most: number): Buffer {
  const blocks = isXerial(bytes) ? xerialBlocks(bytes) : [bytes]
  const stated = blocks.reduce((sum, block) => sum + lengthOf(block).value, 0)
  if (stated > most) throw tooLarge(most)
  const inflated = new Inflated(stated, stated)
  for (const block of blocks) unpackBlock(block, inflated)
  return inflated.bytes
}

function isXerial(bytes: Buffer): boolean {
  return bytes.subarray(0, xerialMark.length).equals(xerialMark)
}

function xerialBlocks(bytes: Buffer): Buffer[] {
  const blocks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    if (isXerial(bytes.subarray(at))) at += xerialHeader // streams may follow each other
    if (at >= bytes.length) break
    if (at + 4 > bytes.length) throw corrupt('a block has no length')
    const end = at + 4 + bytes.readUInt32BE(at)
    if (end > bytes.length) throw corrupt('a block is cut off')
    blocks.push(bytes.subarray(at + 4, end))
    at = end
  }
  return blocks
}

/** The length that a block states in front of itself, and where it begins. */
function lengthOf(block: Buffer): { value: number; end: number } {
  let value = 0
  for (let i = 0; i < 5 && i < block.length; i++) {
    value += (block[i]! & 0x7f) * 2 ** (7 * i)
    if (block[i]! < 0x80) return { value, end: i + 1 }
  }
  throw corrupt('a block does not say how long it is')
}

/** https://github.com/google/snappy/blob/main/format_description.txt */
function unpackBlock(block: Buffer, inflated: Inflated): void {
  const start = inflated.length
  const { value: stated, end: begin } = lengthOf(block)
  const end = block.length
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
