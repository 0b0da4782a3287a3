import { Buffer, isUtf8 } from 'node:buffer'
import avro, { type Type } from 'avsc'

/**
 * Checks a record's bytes before avsc reads them. avsc trusts every count and length, and reads past the end: ten bytes that
 * claim 2^40 items keep it busy for days.
 */

/** Deepest nesting of records, unions and lists. */
const mostLevels = 500
/** The key as it is encoded in a map. */
const protoKey = Buffer.from('\x12__proto__')
/** Bound of a long: ten bytes of seven bits, enough for 64 bits. */
const longestLong = 2 ** 70

/** Thrown when the record ends before its schema does. */
export class Truncated extends Error {}

/** The encoded structure of a type. */
export interface ByteShape {
  kind: 'none' | 'fixed' | 'number' | 'bytes' | 'text' | 'record' | 'union' | 'array' | 'map'
  /** Bytes of a `fixed`. */
  size: number
  /** Fields of a record, branches of a union, items of an array, values of a map. */
  parts: ByteShape[]
}

/** The encoded structure of a type. Repeated references to a named type share one shape. */
export function shapeOf(type: Type, known: Map<Type, ByteShape> = new Map()): ByteShape {
  const seen = known.get(type)
  if (seen) return seen
  const shape: ByteShape = { kind: kindOf(type), size: sizes[type.typeName] ?? 0, parts: [] }
  known.set(type, shape)
  if (type instanceof avro.types.FixedType) shape.size = type.size
  shape.parts = partsOf(type).map(part => shapeOf(part, known))
  return shape
}

const sizes: Record<string, number> = { boolean: 1, float: 4, double: 8 }

function kindOf({ typeName }: Type): ByteShape['kind'] {
  if (typeName === 'null') return 'none'
  if (typeName === 'bytes' || typeName === 'array' || typeName === 'map') return typeName
  if (typeName === 'string') return 'text'
  if (typeName === 'record' || typeName === 'error') return 'record'
  if (typeName.startsWith('union:')) return 'union'
  return typeName === 'fixed' || typeName in sizes ? 'fixed' : 'number'
}

function partsOf(type: Type): Type[] {
  const { ArrayType, MapType, RecordType, UnwrappedUnionType, WrappedUnionType } = avro.types
  if (type instanceof RecordType) return type.fields.map(field => field.type)
  if (type instanceof ArrayType) return [type.itemsType]
  if (type instanceof MapType) return [type.valuesType]
  return type instanceof UnwrappedUnionType || type instanceof WrappedUnionType ? [...type.types] : []
}

/** Follows a record's bytes by its shape. */
export class Walk {
  position: number
  /** Whether all strings of the record are UTF-8. */
  isUtf8 = true
  /** Whether a map has the key __proto__, which avsc drops. */
  hasProtoKey = false
  readonly #bytes: Buffer
  readonly #mostValues: number
  #valuesLeft: number
  #levelsLeft = mostLevels

  /** @throws Truncated; Error when the bytes do not follow the shape or exceed a limit */
  constructor(shape: ByteShape, bytes: Buffer, start: number, mostValues: number) {
    this.#bytes = bytes
    this.#mostValues = mostValues
    this.#valuesLeft = mostValues
    this.position = start
    this.#pass(shape)
  }

  #pass(shape: ByteShape): void {
    if (--this.#valuesLeft < 0) throw new Error(`it holds more than ${this.#mostValues} values`)
    switch (shape.kind) {
      case 'none':
        return
      case 'fixed':
        this.position += shape.size
        break
      case 'number':
        this.#long()
        break
      case 'bytes':
        this.#skip(this.#long())
        break
      case 'text':
        this.#passText()
        break
      default:
        this.#passParts(shape)
    }
    if (this.position > this.#bytes.length) throw new Truncated()
  }

  #passParts({ kind, parts }: ByteShape): void {
    if (--this.#levelsLeft < 0) throw new Error(`it is nested deeper than ${mostLevels} levels`)
    if (kind === 'record') for (const part of parts) this.#pass(part)
    else if (kind === 'union') {
      const branch = parts[this.#long()]
      if (branch === undefined) throw new Error('a union has no such branch')
      this.#pass(branch)
    } else this.#passItems(parts[0]!, kind === 'map')
    this.#levelsLeft++
  }

  #passItems(item: ByteShape, isMap: boolean): void {
    for (let count = this.#long(); count !== 0; count = this.#long()) {
      // A block with a byte length. avsc uses the length only to skip a block, so a wrong one must be refused.
      const end = count < 0 ? this.#long() + this.position : null
      for (let left = Math.abs(count); left > 0; left--) {
        if (isMap) this.#passKey()
        this.#pass(item)
      }
      if (end !== null && end !== this.position) throw new Error('the length of a block is wrong')
    }
  }

  #passKey(): void {
    const start = this.position
    this.#passText()
    if (this.position - start !== protoKey.length) return
    if (protoKey.equals(this.#bytes.subarray(start, this.position))) this.hasProtoKey = true
  }

  #passText(): void {
    const bytes = this.#bytes
    const length = this.#long()
    let at = this.position
    this.#skip(length)
    if (!this.isUtf8) return
    while (at < this.position && bytes[at]! < 0x80) at++
    if (at < this.position) this.isUtf8 = isUtf8(bytes.subarray(at, this.position))
  }

  #skip(length: number): void {
    if (length < 0) throw new Error('a length is negative')
    this.position += length
    if (this.position > this.#bytes.length) throw new Truncated()
  }

  #long(): number {
    const bytes = this.#bytes
    let byte = bytes[this.position++]!
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1)
    let value = byte & 0x7f
    for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
      if (scale >= longestLong) throw new Error('a number has more than 10 bytes')
      byte = bytes[this.position++]!
      value += (byte & 0x7f) * scale
    }
    if (this.position > bytes.length) throw new Truncated()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
}
