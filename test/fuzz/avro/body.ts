import type { Random } from '../../simulation/random.ts'
import type { AvroType } from './type.ts'

/** Bytes of a long: zig-zag, seven bits a byte. */
export function long(value: bigint): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number((rest & 0x7fn) | 0x80n))
  return [...bytes, Number(rest)]
}

const texts = ['', 'a', 'Shop', 'Ваше замовлення', '😀', '5', '"q"', '__proto__', 'toString', '\u0000', '\ufffd', 'é']
const ints = [0, 1, -1, 63, -64, 64, 3600, 2 ** 31 - 1, -(2 ** 31)]
const longs = [0n, 1n, 380501234567n, 2n ** 49n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)]
const numbers = [0, -0, 1.1, -2.25, 1e300, 5e-324, Number.NaN, Number.POSITIVE_INFINITY]
const keys = ['a', 'b', '', '1', 'ключ', 'phone', '__proto__', 'toString', 'constructor', 'valueOf', 'then']

/** Thrown when a value becomes too large, as of a record that contains itself. */
class TooLarge extends Error {}

const mostLevels = 70
const mostValues = 60_000
const mostBytes = 200_000

export interface Body {
  bytes: Buffer
  /** Whether it ends where its type does. */
  isWhole: boolean
}

/** Writes a random value of a type, as any Avro library may: lists in blocks of any size, with or without their length. */
export class BodyWriter {
  readonly #random: Random
  readonly #bytes: number[] = []
  #values = 0
  /** Items of a list, at most; a few values are wide. */
  readonly #mostItems: number

  constructor(random: Random) {
    this.#random = random
    this.#mostItems = random.chance(0.02) ? random.pick([200, 2_000, 20_000]) : 3
  }

  /** Not whole if the value becomes too large. */
  static bodyOf(random: Random, type: AvroType): Body {
    const writer = new BodyWriter(random)
    const body = (isWhole: boolean) => ({ bytes: Buffer.from(writer.#bytes), isWhole })
    try {
      writer.#write(type, 0)
      return body(true)
    } catch (error) {
      if (error instanceof TooLarge) return body(false)
      throw error
    }
  }

  #write(type: AvroType, level: number): void {
    if (level > mostLevels || ++this.#values > mostValues || this.#bytes.length > mostBytes) throw new TooLarge()
    const random = this.#random
    switch (type.kind) {
      case 'null':
        return
      case 'boolean':
        this.#put([random.int(0, 1)])
        return
      case 'int':
        this.#long(random.chance(0.5) ? random.pick(ints) : random.int(0, 1e9))
        return
      case 'long':
        this.#put(long(random.chance(0.5) ? random.pick(longs) : BigInt(random.int(0, 1e9)) * 1_000_003n))
        return
      case 'float':
      case 'double':
        this.#put(this.#number(type.kind))
        return
      case 'string':
        this.#text(random.chance(0.8) ? random.pick(texts) : 'xй'.repeat(random.int(0, 40)))
        return
      case 'bytes':
        this.#sized(Buffer.alloc(random.int(0, 30), random.pick([0, 0x61, 0xff])))
        return
      case 'fixed':
        if (type.size > mostBytes) throw new TooLarge()
        this.#put(Buffer.alloc(type.size, 0xa5))
        return
      case 'enum':
        this.#long(random.int(0, type.symbols.length - 1))
        return
      case 'union': {
        const simple = type.branches.findIndex(({ kind }) => kind === 'null' || kind === 'int')
        const at = level > 12 && simple >= 0 ? simple : random.int(0, type.branches.length - 1)
        this.#long(at)
        this.#write(type.branches[at]!, level + 1)
        return
      }
      case 'record':
        for (const field of type.fields) this.#write(field.type, level + 1)
        return
      default:
        this.#list(type, level)
    }
  }

  #list({ kind, of }: Extract<AvroType, { of: AvroType }>, level: number): void {
    const random = this.#random
    if (kind === 'array' && isEmpty(of) && random.chance(0.3)) {
      const count = random.pick(huge)
      this.#put([...long(count), ...(count < 0n ? long(0n) : [])]) // its items take no bytes
    }
    for (let left = level > 12 ? 0 : random.int(0, this.#mostItems); left > 0; ) {
      const count = random.int(1, left)
      left -= count
      const begin = this.#bytes.length
      for (let i = 0; i < count; i++) {
        if (kind === 'map') this.#text(random.pick(keys))
        this.#write(of, level + 1)
      }
      const block = this.#bytes.splice(begin)
      if (random.chance(0.5)) this.#put([...long(BigInt(-count)), ...long(BigInt(block.length))])
      else this.#long(count)
      this.#put(block)
    }
    this.#long(0)
  }

  #number(kind: 'float' | 'double'): Buffer {
    const value = this.#random.chance(0.5) ? this.#random.pick(numbers) : this.#random.next()
    const bytes = Buffer.alloc(kind === 'float' ? 4 : 8)
    if (kind === 'float') bytes.writeFloatLE(value)
    else bytes.writeDoubleLE(value)
    return bytes
  }

  #text(text: string): void {
    this.#sized(Buffer.from(text))
  }

  #sized(bytes: Buffer): void {
    this.#long(bytes.length)
    this.#put(bytes)
  }

  #long(value: number): void {
    this.#put(long(BigInt(value)))
  }

  #put(bytes: Iterable<number>): void {
    for (const byte of bytes) this.#bytes.push(byte)
  }
}

/** Whether its values have no bytes, so that a list has any number of them. */
const isEmpty = (type: AvroType): boolean =>
  type.kind === 'null' || (type.kind === 'record' && type.fields.every(field => field.type.kind === 'null'))

const huge = [2n ** 40n, 2n ** 62n, -(2n ** 40n), -1n, 100_000n, 2n ** 31n, -(2n ** 63n), 500n, 16_385n]

/** Damages a body: cuts, flips, inserts counts that it cannot hold. */
export function damaged(random: Random, body: Buffer): Buffer {
  const at = random.int(0, body.length)
  const noise = (most: number) => Buffer.from(Array.from({ length: random.int(1, most) }, () => random.int(0, 255)))
  const spliced = (more: Iterable<number>, removed = 0) =>
    Buffer.concat([body.subarray(0, at), Buffer.from([...more]), body.subarray(at + removed)])
  switch (random.int(0, 8)) {
    case 0:
      return spliced([random.int(0, 255)], 1)
    case 1:
      return body.subarray(0, at)
    case 2:
      return spliced(long(random.pick(huge)))
    case 3:
      return spliced(long(random.pick(huge)), 1)
    case 4:
      return spliced([], random.int(1, 5))
    case 5:
      return spliced(noise(6))
    case 6:
      return Buffer.from(
        Array.from({ length: random.int(0, 150) }, () => random.pick([0, 0, 0, 1, 2, 2, 4, 6, 0x80, 0xff])),
      )
    case 7:
      return spliced(
        Buffer.alloc(
          random.chance(0.1) ? random.int(1, 1 << 20) : random.int(1, 600),
          random.pick([0, 1, 2, 0x80, 0xff]),
        ),
      )
    default:
      return Buffer.concat([body, noise(1)])
  }
}
