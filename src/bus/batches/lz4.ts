import { Inflated } from './inflated.ts'
import { packedWeight, type Steps, stretchBytes } from './steps.ts'
import { tooLarge, UnreadableBatch } from './unreadable.ts'

const frameMark = 0x184d2204
const flags = { version: 0xc0, blockChecksum: 0x10, contentSize: 0x08, dictionary: 0x01 }
const version1 = 0x40
const storedBlock = 0x80000000
/** The largest block that the format knows. */
const largestBlock = 4 * 1024 * 1024
/** The shortest repetition; its count is told without it. */
const leastRepeat = 4
/** One byte of a block's length stands for no more than this. */
const longestExpansion = 255

/**
 * Unpacks a frame of LZ4, with blocks that stand alone or go on from each other; yields after each stretch of work.
 * Checksums are passed over: the batch has one of its own, and old producers wrote a wrong one into the frame's header.
 * @throws UnreadableBatch when it is none, or holds more than `most` bytes
 */
export function* unpackLz4(frame: Buffer, most: number): Steps<Buffer> {
  if (frame.length < 7 || frame.readUInt32LE(0) !== frameMark) throw corrupt('it does not begin with a frame')
  const flag = frame[4]!
  if ((flag & flags.version) !== version1) throw corrupt('its frame has an unknown version')
  if (flag & flags.dictionary) throw corrupt('its frame needs a dictionary')
  let at = 6
  let expected = 4 * frame.length
  if (flag & flags.contentSize) {
    if (frame.length < at + 9) throw corrupt('its frame is cut off')
    const stated = Number(frame.readBigUInt64LE(at))
    if (stated > most) throw tooLarge(most)
    expected = Math.min(stated, longestExpansion * frame.length) // what is stated need not be there
    at += 8
  }
  const inflated = new Inflated(expected, most)
  at += 1 // the header's checksum
  for (let restsAt = stretchBytes; ; ) {
    if (at + 4 > frame.length) throw corrupt('its frame has no end')
    const word = frame.readUInt32LE(at)
    if (word === 0) return inflated.bytes
    const length = word % storedBlock
    const begin = at + 4
    const end = begin + length
    if (end > frame.length) throw corrupt('a block is cut off')
    if (word >= storedBlock) inflated.append(frame, begin, length)
    else unpackBlock(frame, begin, end, inflated)
    at = end + (flag & flags.blockChecksum ? 4 : 0)
    if (packedWeight * at + inflated.length < restsAt) continue
    yield
    restsAt = packedWeight * at + inflated.length + stretchBytes
  }
}

/** https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md */
function unpackBlock(frame: Buffer, begin: number, end: number, inflated: Inflated): void {
  const most = inflated.length + largestBlock
  let at = begin
  while (at < end) {
    const token = frame[at++]!
    let literals = token >> 4
    if (literals === 15) {
      for (let more = 255; more === 255; literals += more) more = at < end ? frame[at++]! : cutOff()
    }
    if (at + literals > end) cutOff()
    inflated.append(frame, at, literals)
    at += literals
    if (at === end) return // the last sequence has no repetition
    if (at + 2 > end) cutOff()
    const distance = frame[at]! | (frame[at + 1]! << 8)
    at += 2
    let count = (token & 15) + leastRepeat
    if (count === 15 + leastRepeat) {
      for (let more = 255; more === 255; count += more) more = at < end ? frame[at++]! : cutOff()
    }
    if (inflated.length + count > most) throw corrupt('a block is larger than 4 MiB')
    inflated.repeat(distance, count)
  }
}

function cutOff(): never {
  throw corrupt('a block is cut off')
}

function corrupt(what: string): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', `it is no LZ4, ${what}`)
}
