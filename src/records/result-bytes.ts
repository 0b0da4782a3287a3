import { Buffer } from 'node:buffer'
import { avroTypeOf, idBytes, wellFormed } from './avro.ts'
import type { SendResult } from './generated.ts'
import { schemas } from './schemas.ts'

/** Indexes of the enum's symbols, and the type of the rare field `hlr`, as the schema defines them. */
const fieldTypes = new Map(schemas.result.fields.map(({ name, type }) => [name, type]))
const { symbols } = fieldTypes.get('outcome') as unknown as { symbols: readonly SendResult['outcome'][] }
const outcomes = Object.fromEntries(symbols.map((symbol, i) => [symbol, i])) as Record<SendResult['outcome'], number>
const hlrType = () => avroTypeOf(fieldTypes.get('hlr') as object)

/**
 * Writes a result like avsc, in a third of the time, since every command has one.
 * @returns the end position, or the negated number of missing bytes
 */
export function writeResultBytes(result: SendResult, buffer: Buffer, start: number): number {
  const to = new AvroCursor(buffer, start)
  to.id(result.id)
  to.text(result.type)
  to.text(result.account)
  to.long(outcomes[result.outcome])
  to.flag(result.final)
  to.textOrNull(result.msgId)
  to.longOrNull(result.parts)
  to.textOrNull(result.errorCode)
  to.textOrNull(result.error)
  to.textOrNull(result.code)
  to.doubleOrNull(result.price)
  if (result.hlr === null) to.long(0)
  else to.bytes(hlrType().toBuffer(wellFormed(result.hlr)))
  to.textOrNull(result.payload)
  to.long(result.attempts)
  to.text(result.commandTopic)
  to.long(result.commandPartition)
  to.long(result.commandOffset)
  to.longOrNull(result.sentAt)
  to.long(result.completedAt)
  to.textOrNull(result.correlationId)
  to.textOrNull(result.tenant)
  to.textOrNull(result.campaign)
  to.flagOrNull(result.hooked)
  to.longOrNull(result.commandAt)
  to.textOrNull(result.country)
  return to.at <= buffer.length ? to.at : buffer.length - to.at
}

/** Ids within this limit are exact as numbers, even when doubled. Those of INVALID commands may be negative. */
const surelyExact = 2n ** 52n
/** Buffer.write is faster for longer texts. The length of shorter ones takes one byte. */
const shortText = 48

/** Writes consecutive Avro values. Counts, but does not write, bytes beyond the end of the buffer. */
class AvroCursor {
  at: number
  readonly #buffer: Buffer

  constructor(buffer: Buffer, at: number) {
    this.#buffer = buffer
    this.at = at
  }

  /** A whole number from -(2^52) to 2^53. */
  long(value: number): void {
    const buffer = this.#buffer
    let rest = value < 0 ? -2 * value - 1 : 2 * value
    while (rest > 0x7fffffff) {
      buffer[this.at++] = (rest & 0x7f) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    while (rest > 0x7f) {
      buffer[this.at++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    buffer[this.at++] = rest
  }

  longOrNull(value: number | null): void {
    if (value === null) this.long(0)
    else {
      this.long(1)
      this.long(value)
    }
  }

  id(value: bigint): void {
    if (-surelyExact < value && value < surelyExact) this.long(Number(value))
    else this.bytes(idBytes(value))
  }

  flag(value: boolean): void {
    this.#buffer[this.at++] = value ? 1 : 0
  }

  flagOrNull(value: boolean | null): void {
    this.long(value === null ? 0 : 1)
    if (value !== null) this.flag(value)
  }

  doubleOrNull(value: number | null): void {
    this.long(value === null ? 0 : 1)
    if (value === null) return
    if (this.at + 8 <= this.#buffer.length) this.#buffer.writeDoubleLE(value, this.at)
    this.at += 8
  }

  /** Writes UTF-8. A lone surrogate becomes U+FFFD. */
  text(value: string): void {
    if (value.length <= shortText && this.#ascii(value)) return
    const length = Buffer.byteLength(value)
    this.long(length)
    if (this.at + length <= this.#buffer.length) this.#buffer.write(value, this.at)
    this.at += length
  }

  textOrNull(value: string | null): void {
    this.long(value === null ? 0 : 1)
    if (value !== null) this.text(value)
  }

  /** @returns false, with the position unchanged, if the text is not ASCII */
  #ascii(value: string): boolean {
    const buffer = this.#buffer
    const { length } = value
    let { at } = this
    buffer[at++] = 2 * length
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) return false
      buffer[at++] = code
    }
    this.at = at
    return true
  }

  /** Writes the bytes without a length. */
  bytes(value: Buffer): void {
    if (this.at + value.length <= this.#buffer.length) value.copy(this.#buffer, this.at)
    this.at += value.length
  }
}
