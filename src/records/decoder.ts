import type { Type } from 'avsc'
import type { BusRecord } from '../bus/port.ts'
import { type Clock, sleep, systemClock } from '../clock.ts'
import { avroTypeOf } from './avro.ts'
import { type RecordReading, readingOf, readRecord } from './reading.ts'
import { SchemaNotFound, type SchemaRegistry, SchemaUnreadable } from './registry.ts'
import { schemas } from './schemas.ts'
import { Truncated } from './walk.ts'

/** How long, and after which pauses, a schema that the registry does not have is asked for again: a replica may lag. */
const patienceMs = 10_000
const firstPauseMs = 250
/** How long a refusal is believed: a registry may have been wrong once. */
const refusedMs = 60_000
/**
 * A lagging replica lacks a schema or two. Once more than this many are missing, the registry is believed at once for a
 * minute: foreign bytes can name any number of schemas, and their neighbours wait behind them.
 */
const mostAwaited = 4
/** Foreign bytes can name any number of schemas; more refusals than this are not worth remembering. */
const mostRefused = 10_000
/**
 * Most bytes of a command. Kafka bounds only what records are packed to: a value of 60 MiB, packed to some KiB, takes seconds to
 * read and check.
 */
const longestCommand = 1 << 20
/** avsc's own messages may hold a whole type. */
const longestReason = 300
/** Confluent wire format: a zero byte, the schema's id in 4 bytes, the body. */
const headerBytes = 5

/** What Apicurio's Java serializer has to be told, so that it writes as Confluent's does. */
export const apicurioSettings =
  'apicurio.registry.headers.enabled=false, apicurio.registry.as-confluent=true and apicurio.registry.use-id=contentId'

export type DecodeCode =
  | 'NO_VALUE'
  | 'NOT_CONFLUENT'
  | 'VALUE_TOO_LARGE'
  | 'SCHEMA_NOT_FOUND'
  | 'SCHEMA_INCOMPATIBLE'
  | 'TRUNCATED'
  | 'TRAILING_BYTES'
  | 'DECODE'

/**
 * DecodeError says why a record cannot be decoded, now or ever. The message carries nothing of the record's content.
 */
export interface DecodeError {
  code: DecodeCode
  message: string
}

export type Decoded<T> =
  /** `flaw` names what a record must not have and what does not keep it from being read: a text that is not UTF-8. */
  | { ok: true; value: T; flaw?: string }
  /** The schema with this id is not known yet: await prepare(id), then decode again. */
  | { ok: false; pending: number }
  | { ok: false; error: DecodeError }

export interface Decoder<T> {
  /** null is the value of a tombstone. */
  decode(value: Buffer | null): Decoded<T>
  /**
   * Makes the writer's schema of that id ready. Resolves also when the answer is definite but bad: decode then says so.
   * That the registry does not have it is definite only after some seconds, where the decoder is patient.
   * @throws RegistryUnavailable when the registry could not be asked; try again.
   */
  prepare(schemaId: number): Promise<void>
  /** What is wrong with the schemas that cannot be read, where there are any. */
  refusals(): string[]
}

export interface DecoderOptions {
  clock?: Clock
  /** Whether a schema that the registry does not have is asked for again before that is believed. Default: no. */
  patient?: boolean
}

/** Reads records of any writer's schema as the reader's. */
export function createDecoder<T>(
  readerSchema: object,
  registry: SchemaRegistry,
  { clock = systemClock, patient = false }: DecoderOptions = {},
): Decoder<T> {
  return new ConfluentDecoder<T>(readerSchema, new PatientRegistry(registry, clock, patient), clock)
}

class ConfluentDecoder<T> implements Decoder<T> {
  readonly #readerSchema: object
  readonly #reader: Type
  readonly #longest: number
  readonly #registry: PatientRegistry
  readonly #clock: Clock
  readonly #readings = new Map<number, RecordReading>()
  readonly #refused = new Map<number, { error: DecodeError; until: number }>()
  readonly #asked = new Map<number, Promise<void>>()

  constructor(readerSchema: object, registry: PatientRegistry, clock: Clock) {
    this.#readerSchema = readerSchema
    this.#reader = avroTypeOf(readerSchema)
    this.#longest = readerSchema === schemas.command ? longestCommand : Number.POSITIVE_INFINITY
    this.#registry = registry
    this.#clock = clock
  }

  decode(value: Buffer | null): Decoded<T> {
    if (value === null) return failed('NO_VALUE', 'The record has no value: a command topic takes no tombstones.')
    if (value.length > this.#longest) {
      const text = `The value has ${value.length} bytes, a command at most ${this.#longest}: keep other data out of the command topics.`
      return failed('VALUE_TOO_LARGE', text)
    }
    if (value.length < headerBytes || value[0] !== 0) {
      return failed(
        'NOT_CONFLUENT',
        'The value does not begin with a zero byte and a schema id: write it with the serializer of a schema registry.',
      )
    }
    const schemaId = value.readUInt32BE(1)
    if (schemaId === 0) {
      return failed(
        'NOT_CONFLUENT',
        `The schema's id has 8 bytes, or is 0: with Apicurio's serializer set ${apicurioSettings}.`,
      )
    }
    const reading = this.#readings.get(schemaId)
    return reading === undefined ? this.#withoutSchema(schemaId) : decodeBody(this.#reader, reading, value, schemaId)
  }

  #withoutSchema(schemaId: number): Decoded<T> {
    const refusal = this.#refused.get(schemaId)
    if (refusal && this.#clock.monotonic() < refusal.until) return { ok: false, error: refusal.error }
    return { ok: false, pending: schemaId }
  }

  prepare(schemaId: number): Promise<void> {
    if (this.#readings.has(schemaId)) return Promise.resolve()
    const asking = this.#asked.get(schemaId) ?? this.#learn(schemaId).finally(() => this.#asked.delete(schemaId))
    this.#asked.set(schemaId, asking)
    return asking
  }

  async #learn(schemaId: number): Promise<void> {
    try {
      this.#readings.set(schemaId, readingOf(this.#readerSchema, await this.#registry.schemaOf(schemaId), schemaId))
      this.#refused.delete(schemaId)
      this.#registry.found(schemaId)
    } catch (error) {
      if (error instanceof SchemaNotFound) this.#refuse(schemaId, 'SCHEMA_NOT_FOUND', error.message)
      else if (error instanceof SchemaUnreadable) this.#refuse(schemaId, 'SCHEMA_INCOMPATIBLE', error.message)
      else throw error
    }
  }

  #refuse(schemaId: number, code: DecodeCode, message: string): void {
    if (this.#refused.size >= mostRefused) this.#refused.clear()
    this.#refused.set(schemaId, { error: { code, message }, until: this.#clock.monotonic() + refusedMs })
  }

  refusals(): string[] {
    const now = this.#clock.monotonic()
    const unreadable = [...this.#refused.values()].filter(
      ({ error, until }) => error.code === 'SCHEMA_INCOMPATIBLE' && now < until,
    )
    if (unreadable.length <= 1) return unreadable.map(({ error }) => error.message)
    return [`${unreadable.length} schemas cannot be read, one of them: ${unreadable[0]!.error.message}`]
  }
}

/** Asks the registry again for a schema that it does not have, for some seconds and for a few schemas. */
class PatientRegistry {
  readonly #registry: SchemaRegistry
  readonly #clock: Clock
  readonly #patient: boolean
  /** Schemas that are asked for again, or were in vain during the last minute. */
  readonly #awaitedUntil = new Map<number, number>()
  #impatientUntil = Number.NEGATIVE_INFINITY

  constructor(registry: SchemaRegistry, clock: Clock, patient: boolean) {
    this.#registry = registry
    this.#clock = clock
    this.#patient = patient
  }

  found(schemaId: number): void {
    this.#awaitedUntil.delete(schemaId)
  }

  /** @throws SchemaNotFound when the registry has said so for long enough, or when there is no patience for it now. */
  async schemaOf(schemaId: number): Promise<object> {
    const until = this.#clock.monotonic() + patienceMs
    for (let pause = firstPauseMs; ; pause *= 2) {
      try {
        return await this.#registry.schemaOf(schemaId)
      } catch (error) {
        if (!(error instanceof SchemaNotFound) || !this.#isAwaited(schemaId)) throw error
        const left = until - this.#clock.monotonic()
        if (left <= 0) throw error
        await sleep(this.#clock, Math.min(pause, left))
      }
    }
  }

  #isAwaited(schemaId: number): boolean {
    const now = this.#clock.monotonic()
    if (!this.#patient || now < this.#impatientUntil) return false
    for (const [id, until] of this.#awaitedUntil) if (until <= now) this.#awaitedUntil.delete(id)
    if (this.#awaitedUntil.size < mostAwaited || this.#awaitedUntil.has(schemaId)) {
      this.#awaitedUntil.set(schemaId, now + refusedMs)
      return true
    }
    this.#impatientUntil = now + refusedMs
    this.#awaitedUntil.clear()
    return false
  }
}

function decodeBody<T>(reader: Type, reading: RecordReading, bytes: Buffer, schemaId: number): Decoded<T> {
  try {
    const { value, flaw, end } = readRecord(reader, reading, bytes, headerBytes)
    if (end < bytes.length) {
      return failed('TRAILING_BYTES', `${bytes.length - end} bytes follow the record of schema ${schemaId}.`)
    }
    return flaw === null ? { ok: true, value: value as T } : { ok: true, value: value as T, flaw }
  } catch (error) {
    const { message } = error as Error
    if (error instanceof Truncated) return failed('TRUNCATED', `The record ends before its schema ${schemaId} does.`)
    if (error instanceof SchemaUnreadable) {
      return failed(
        'SCHEMA_INCOMPATIBLE',
        `The record of schema ${schemaId} cannot be read as ${reader.name}: ${message}. Upgrade busgate first.`,
      )
    }
    return failed('DECODE', `The bytes do not follow schema ${schemaId}: ${message.slice(0, longestReason)}.`)
  }
}

function failed(code: DecodeCode, message: string): { ok: false; error: DecodeError } {
  return { ok: false, error: { code, message } }
}

const retryMs = 1000

export type Definite<T> = { ok: true; value: T } | { ok: false; error: DecodeError }

/**
 * Decodes a value; while the registry cannot be asked for its schema, asks again.
 * @param wanted whether the answer still matters
 * @returns null when it does not matter any more
 */
export async function decodePatiently<T>(
  decoder: Decoder<T>,
  value: Buffer | null,
  clock: Clock,
  wanted: () => boolean,
): Promise<Definite<T> | null> {
  for (;;) {
    const decoded = decoder.decode(value)
    if (!('pending' in decoded)) return decoded
    if (!wanted()) return null
    await decoder.prepare(decoded.pending).catch(() => sleep(clock, retryMs))
  }
}

/**
 * Tells whether the record may be read when its schema is in the registry, or busgate is newer; all else is no record
 * of ours.
 */
export function isReadableLater({ code }: DecodeError): boolean {
  return code === 'SCHEMA_NOT_FOUND' || code === 'SCHEMA_INCOMPATIBLE'
}

/** Decodes records, asking the registry where needed. @throws RegistryUnavailable before anything is answered */
export async function decodeAll<T>(decoder: Decoder<T>, records: readonly BusRecord[]): Promise<Decoded<T>[]> {
  for (const { value } of records) {
    const decoded = decoder.decode(value)
    if (!decoded.ok && 'pending' in decoded) await decoder.prepare(decoded.pending)
  }
  return records.map(({ value }) => decoder.decode(value))
}
