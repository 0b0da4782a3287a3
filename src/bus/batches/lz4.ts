import { OutputBuffer } from './output-buffer.ts'
import { tooLarge, UnreadableBatch } from './unreadable.ts'

const frameMark = 0x184d2204
const flags = { version: 0xc0, blockChecksum: 0x10, contentSize: 0x08, dictionary: 0x01 }
const version1 = 0x40
const storedBlock = 0x80000000
/** Largest block of the format. */
const largestBlock = 4 * 1024 * 1024
/** Shortest match; the stored length does not include it. */
const leastRepeat = 4
/** One compressed byte expands to at most this many bytes. */
const longestExpansion = 255

/**
 * Decompresses an LZ4 frame with independent or linked blocks. Ignores the frame's checksums: the batch has its own, and
 * old producers wrote a wrong one into the frame header.
 * @throws UnreadableBatch when it is no LZ4 frame, or decompresses to more than `most` bytes
 */
export function unpackLz4(frame: Buffer, most: number): Buffer {
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
    expected = Math.min(stated, longestExpansion * frame.length) // the stated size may be wrong
    at += 8
  }
  const output = new OutputBuffer(expected, most)
  at += 1 // header checksum
  for (;;) {
    if (at + 4 > frame.length) throw corrupt('its frame has no end')
    const word = frame.readUInt32LE(at)
    if (word === 0) return output.bytes
    const length = word % storedBlock
    const begin = at + 4
    const end = begin + length
    if (end > frame.length) throw corrupt('a block is cut off')
    if (word >= storedBlock) output.append(frame, begin, length)
    else unpackBlock(frame, begin, end, output)
    at = end + (flag & flags.blockChecksum ? 4 : 0)
  }
}

/** https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md */
function unpackBlock(frame: Buffer, begin: number, end: number, output: OutputBuffer): void {
  const most = output.length + largestBlock
  let at = begin
  while (at < end) {
    const token = frame[at++]!
    let literals = token >> 4
    if (literals === 15) {
      for (let more = 255; more === 255; literals += more) more = at < end ? frame[at++]! : cutOff()
    }
    if (at + literals > end) cutOff()
    output.append(frame, at, literals)
    at += literals
    if (at === end) return // the last sequence has no match
    if (at + 2 > end) cutOff()
    const distance = frame[at]! | (frame[at + 1]! << 8)
    at += 2
    let count = (token & 15) + leastRepeat
    if (count === 15 + leastRepeat) {
      for (let more = 255; more === 255; count += more) more = at < end ? frame[at++]! : cutOff()
    }
    if (output.length + count > most) throw corrupt('a block is larger than 4 MiB')
    output.repeat(distance, count)
  }
}

function cutOff(): never {
  throw corrupt('a block is cut off')
}

function corrupt(what: string): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', `it is not valid LZ4: ${what}`)
}
