import { Buffer, isUtf8 } from 'node:buffer'
import avro, { type Type } from 'avsc'

/**
 * The way through a record's bytes, before avsc reads them. avsc believes every count and length, and reads on past
 * the end: ten bytes that claim 2^40 items keep it busy for days.
 */

/** Records, unions and lists inside each other. */
const mostLevels = 500
/** A key as its bytes stand in a map. */
const protoKey = Buffer.from('\x12__proto__')
/** Bytes of a long: ten times seven bits hold 64. */
const longestLong = 2 ** 70

/** The record ends before its schema does. */
export class Truncated extends Error {}

/** ByteShape is what the bytes of a type look like. */
export interface ByteShape {
  kind: 'none' | 'fixed' | 'number' | 'bytes' | 'text' | 'record' | 'union' | 'array' | 'map'
  /** Bytes of a `fixed`. */
  size: number
  /** The fields of a record, the branches of a union, the items of an array, the values of a map. */
  parts: ByteShape[]
}

/** Tells what records of the type look like. A type that is named more than once has one shape. */
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

/**
 * The most values that any part of the shape has without a count or a choice before them, so that no byte pays for
 * them. Infinity: a record is inside itself.
 */
export function expandedSize(shape: ByteShape): number {
  const sizes = new Map<ByteShape, number>()
  const sizeOf = (part: ByteShape): number => {
    const known = sizes.get(part)
    if (known !== undefined) return known
    sizes.set(part, Infinity)
    if (part.kind !== 'record') sizes.set(part, 1)
    let size = 1
    for (const inner of part.parts) {
      const innerSize = sizeOf(inner)
      if (part.kind === 'record') size += innerSize
    }
    sizes.set(part, size)
    return size
  }
  sizeOf(shape)
  return Math.max(...sizes.values())
}

/** Walk follows a record's bytes by its shape. */
export class Walk {
  /** Where the record ends. */
  position: number
  /** Whether every text of the record is UTF-8. */
  isUtf8 = true
  /** Whether a map has the key __proto__, which avsc loses. */
  hasProtoKey = false
  readonly #bytes: Buffer
  readonly #mostValues: number
  #valuesLeft: number
  #levelsLeft = mostLevels

  /** @throws Truncated; Error when the bytes do not follow the shape, or hold more than busgate reads */
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
      // A block with its length in front. avsc reads such a block by its items, and passes over it by its length.
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
