import { UnreadableBatch } from './unreadable.ts'

/** The longest number takes 64 bits, 7 in a byte. */
const longestVarint = 10

/** Reads the fields of records in turn: numbers, and bytes with their length in front of them. */
export class FieldReader {
  readonly bytes: Buffer
  /** Where the next field stands. */
  at: number
  /** Bytes with their length in front of them end here at the latest. Numbers are not looked at: whoever reads them asks where they end. */
  end: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
    this.end = bytes.length
  }

  /** The bytes that stand here, or null, which is not the same as no bytes. */
  view(): Buffer | null {
    const length = this.span()
    return length === -1 ? null : this.bytes.subarray(this.at - length, this.at)
  }

  /** Goes behind the bytes that stand here. @returns how many; -1: null stands here */
  span(): number {
    const length = this.varint()
    if (length === -1) return length
    const behind = this.at + length
    if (length < 0 || behind > this.end) throw corruptRecords()
    this.at = behind
    return length
  }

  /** Zigzag: the lowest bit is the sign. */
  varint(): number {
    const { bytes } = this
    let byte = bytes[this.at++]
    if (byte !== undefined && byte < 0x80) return (byte >>> 1) ^ -(byte & 1)
    let value = 0
    let weight = 1
    for (let i = 0; i < longestVarint; i++) {
      if (byte === undefined) throw corruptRecords()
      value += (byte & 0x7f) * weight
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      weight *= 128
      byte = bytes[this.at++]
    }
    throw corruptRecords()
  }
}

export function corruptRecords(): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', 'its records are not as long as they say')
}
