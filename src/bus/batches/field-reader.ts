import { UnreadableBatch } from './unreadable.ts'

/** 64 bits at 7 bits a byte. */
const longestVarint = 10

/** Reads the fields of records in order: varint numbers, and bytes with a length in front. */
export class FieldReader {
  readonly bytes: Buffer
  at: number
  /** Limit of length-prefixed fields. `varint` does not check it; its callers do. */
  end: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
    this.end = bytes.length
  }

  /** The length-prefixed bytes at this position; null differs from empty. */
  view(): Buffer | null {
    const length = this.span()
    return length === -1 ? null : this.bytes.subarray(this.at - length, this.at)
  }

  /** Skips length-prefixed bytes. @returns their length; -1 for null */
  span(): number {
    const length = this.varint()
    if (length === -1) return length
    const behind = this.at + length
    if (length < 0 || behind > this.end) throw corruptRecords()
    this.at = behind
    return length
  }

  /** Reads a zigzag varint. */
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
  return new UnreadableBatch('BATCH_CORRUPT', 'its records have wrong lengths')
}
