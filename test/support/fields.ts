/** The fields of requests and answers as the fake broker writes and reads them, apart from the library that the client uses. In a flexible version lengths are varints, and each structure ends with tags. */

const firstSize = 256

export class WireWriter {
  readonly #flexible: boolean
  #bytes = Buffer.allocUnsafe(firstSize)
  #at = 0

  constructor(flexible: boolean) {
    this.#flexible = flexible
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }

  int8(value: number): this {
    const at = this.#advance(1)
    this.#bytes.writeInt8(value, at)
    return this
  }

  int16(value: number): this {
    const at = this.#advance(2)
    this.#bytes.writeInt16BE(value, at)
    return this
  }

  int32(value: number): this {
    const at = this.#advance(4)
    this.#bytes.writeInt32BE(value, at)
    return this
  }

  int64(value: number | bigint): this {
    const at = this.#advance(8)
    this.#bytes.writeBigInt64BE(BigInt(value), at)
    return this
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0)
  }

  uvarint(value: number): this {
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.#byte((rest & 0x7f) | 0x80)
    this.#byte(rest)
    return this
  }

  string(value: string | null): this {
    const length = value === null ? -1 : Buffer.byteLength(value)
    if (this.#flexible) this.uvarint(length + 1)
    else this.int16(length)
    const at = this.#advance(Math.max(0, length))
    if (value !== null) this.#bytes.write(value, at)
    return this
  }

  buffer(value: Buffer | null): this {
    this.#length(value === null ? -1 : value.length)
    const at = this.#advance(value?.length ?? 0)
    value?.copy(this.#bytes, at)
    return this
  }

  /** Structures. */
  array<T>(items: readonly T[] | null, write: (item: T) => void): this {
    return this.values(items, item => {
      write(item)
      this.tags()
    })
  }

  /** Single fields. */
  values<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.#length(items === null ? -1 : items.length)
    for (const item of items ?? []) write(item)
    return this
  }

  /** Ends a structure: there are no tags. */
  tags(): this {
    return this.#flexible ? this.uvarint(0) : this
  }

  #length(length: number): void {
    if (this.#flexible) this.uvarint(length + 1)
    else this.int32(length)
  }

  #byte(value: number): void {
    const at = this.#advance(1)
    this.#bytes[at] = value
  }

  /** Makes room. @returns where the next `size` bytes belong */
  #advance(size: number): number {
    const at = this.#at
    this.#at += size
    if (this.#at > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at))
      this.#bytes.copy(larger, 0, 0, at)
      this.#bytes = larger
    }
    return at
  }
}

export class WireReader {
  readonly #bytes: Buffer
  readonly #flexible: boolean
  #at = 0

  constructor(bytes: Buffer, flexible: boolean) {
    this.#bytes = bytes
    this.#flexible = flexible
  }

  /** Passes over so many bytes. */
  skip(bytes: number): this {
    this.#at += bytes
    return this
  }

  int8(): number {
    return this.#bytes.readInt8(this.#past(1))
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#past(2))
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#past(4))
  }

  /** Reads an offset or a time, which stay below 2^53. */
  int64(): number {
    const at = this.#past(8)
    return this.#bytes.readInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4)
  }

  bigint(): bigint {
    return this.#bytes.readBigInt64BE(this.#past(8))
  }

  boolean(): boolean {
    return this.int8() !== 0
  }

  uvarint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes.readUInt8(this.#past(1))
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  string(): string {
    return this.nullableString() ?? ''
  }

  nullableString(): string | null {
    const length = this.#flexible ? this.uvarint() - 1 : this.int16()
    return length < 0 ? null : this.#take(length).toString()
  }

  /** Shares its memory with the answer. */
  buffer(): Buffer | null {
    const length = this.#length()
    return length < 0 ? null : this.#take(length)
  }

  /** Structures; null is none. */
  array<T>(read: () => T): T[] {
    return this.values(() => {
      const item = read()
      this.tags()
      return item
    })
  }

  /** Single fields; null is none. */
  values<T>(read: () => T): T[] {
    const items: T[] = []
    for (let left = this.#length(); left > 0; left--) items.push(read())
    return items
  }

  /** Ends a structure. */
  tags(): this {
    if (this.#flexible) this.tagged(() => {})
    return this
  }

  /** Reads tags, and hands each one's bytes over. */
  tagged(each: (tag: number, fields: WireReader) => void): void {
    for (let left = this.uvarint(); left > 0; left--) {
      const tag = this.uvarint()
      each(tag, new WireReader(this.#take(this.uvarint()), this.#flexible))
    }
  }

  #length(): number {
    return this.#flexible ? this.uvarint() - 1 : this.int32()
  }

  #take(size: number): Buffer {
    const at = this.#past(size)
    if (this.#at > this.#bytes.length) throw new RangeError('the answer ends too soon')
    return this.#bytes.subarray(at, this.#at)
  }

  #past(size: number): number {
    const at = this.#at
    this.#at += size
    return at
  }
}
