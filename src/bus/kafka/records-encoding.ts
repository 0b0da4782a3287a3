import { type Bytes, type Content, lengthOf, pairsOf, recordSize, sizeOfVarint } from '../record-size.ts'

/**
 * Messages as the records of one batch, in Kafka's record format v2 (KIP-98), all with the batch's own timestamp.
 * kafkajs makes a dozen buffers for each record; this makes one for all of them.
 * @param frameBytes room that is left in front of them
 */
export function encodeRecords(messages: readonly Content[], frameBytes = 0): Buffer {
  const sizes = new Uint32Array(messages.length)
  let total = frameBytes
  for (let i = 0; i < messages.length; i++) {
    sizes[i] = recordSize(messages[i]!, i)
    total += sizeOfVarint(sizes[i]!) + sizes[i]!
  }
  const writer = new Writer(total, frameBytes)
  for (let i = 0; i < messages.length; i++) {
    writer.varint(sizes[i]!)
    writer.byte(0) // attributes: none are defined
    writer.varint(0) // milliseconds after the batch's timestamp
    writer.varint(i) // offset in the batch
    const { key, value, headers } = messages[i]!
    writer.bytes(key ?? null)
    writer.bytes(value)
    const pairs = pairsOf(headers)
    writer.varint(pairs.length)
    for (const [name, content] of pairs) {
      writer.bytes(name)
      writer.bytes(content)
    }
  }
  return writer.buffer
}

class Writer {
  readonly buffer: Buffer
  #at: number

  constructor(size: number, at: number) {
    this.buffer = Buffer.allocUnsafe(size)
    this.#at = at
  }

  byte(value: number): void {
    this.buffer[this.#at++] = value
  }

  /** -1, or what is not negative. */
  varint(value: number): void {
    let rest = value < 0 ? 1 : value * 2
    while (rest > 0x7f) {
      this.byte((rest & 0x7f) | 0x80)
      rest >>>= 7
    }
    this.byte(rest)
  }

  bytes(value: Bytes | null): void {
    if (value === null) {
      this.varint(-1)
      return
    }
    this.varint(lengthOf(value))
    if (typeof value === 'string') this.#at += this.buffer.write(value, this.#at)
    else this.#at += value.copy(this.buffer, this.#at)
  }
}
