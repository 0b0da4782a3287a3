import type { Message } from 'kafkajs'

/**
 * Messages as the records of one batch, in Kafka's record format v2 (KIP-98), all with the batch's own timestamp.
 * kafkajs makes a dozen buffers for each record; this makes one for all of them.
 */
export function encodeRecords(messages: readonly Message[]): Buffer {
  const sizes = new Uint32Array(messages.length)
  let total = 0
  for (let i = 0; i < messages.length; i++) {
    sizes[i] = recordSize(messages[i]!, i)
    total += sizeOfVarint(sizes[i]!) + sizes[i]!
  }
  const writer = new Writer(total)
  for (let i = 0; i < messages.length; i++) {
    writer.varint(sizes[i]!)
    writer.byte(0) // attributes: none are defined
    writer.varint(0) // milliseconds after the batch's timestamp
    writer.varint(i) // offset in the batch
    const { key, value, headers } = messages[i]!
    writer.bytes(key ?? null)
    writer.bytes(value)
    const pairs = headers ? pairsOf(headers) : noPairs
    writer.varint(pairs.length)
    for (const [name, content] of pairs) {
      writer.bytes(name)
      writer.bytes(content)
    }
  }
  return writer.buffer
}

type Bytes = Buffer | string

const noPairs: readonly [string, Bytes][] = []

/** A header's name may stand for several. */
function pairsOf(headers: NonNullable<Message['headers']>): readonly [string, Bytes][] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, Bytes] => [name, value]),
  )
}

type Content = Pick<Message, 'value' | 'headers'> & { key?: Message['key'] }

/** Bytes of a record in its batch, without the length in front of it. @param index its place there */
export function recordSize({ key, value, headers }: Content, index = 0): number {
  const pairs = headers ? pairsOf(headers) : noPairs
  let size = 2 + sizeOfVarint(index) + sizeOfBytes(key ?? null) + sizeOfBytes(value) + sizeOfVarint(pairs.length)
  for (const [name, content] of pairs) size += sizeOfBytes(name) + sizeOfBytes(content)
  return size
}

const lengthOf = (value: Bytes) => (typeof value === 'string' ? Buffer.byteLength(value) : value.length)

function sizeOfBytes(value: Bytes | null): number {
  if (value === null) return 1 // the length -1
  const length = lengthOf(value)
  return sizeOfVarint(length) + length
}

/** Of a number that is not negative: zigzag doubles it. */
function sizeOfVarint(value: number): number {
  return value < 2 ** 6 ? 1 : value < 2 ** 13 ? 2 : value < 2 ** 20 ? 3 : value < 2 ** 27 ? 4 : 5
}

class Writer {
  readonly buffer: Buffer
  #at = 0

  constructor(size: number) {
    this.buffer = Buffer.allocUnsafe(size)
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
