import { Writer } from '@platformatic/kafka'

/** Writes the fields of an answer. In a flexible version lengths are varints, and each structure ends with tags. */
export class WireWriter {
  readonly #flexible: boolean
  readonly #to = Writer.create()

  constructor(flexible: boolean) {
    this.#flexible = flexible
  }

  get bytes(): Buffer {
    return this.#to.buffer
  }

  int16(value: number): this {
    this.#to.appendInt16(value)
    return this
  }

  int32(value: number): this {
    this.#to.appendInt32(value)
    return this
  }

  int64(value: number): this {
    this.#to.appendInt64(BigInt(value))
    return this
  }

  boolean(value: boolean): this {
    this.#to.appendBoolean(value)
    return this
  }

  string(value: string | null): this {
    this.#to.appendString(value, this.#flexible)
    return this
  }

  buffer(value: Buffer): this {
    this.#to.appendBytes(value, this.#flexible)
    return this
  }

  /** Structures. */
  array<T>(items: T[], write: (item: T) => void): this {
    return this.values(items, item => {
      write(item)
      this.tags()
    })
  }

  /** Single fields. */
  values<T>(items: T[], write: (item: T) => void): this {
    this.#to.appendArray(items, (_, item) => write(item), this.#flexible, false)
    return this
  }

  /** Ends a structure: there are no tags. */
  tags(): this {
    if (this.#flexible) this.#to.appendTaggedFields()
    return this
  }
}
