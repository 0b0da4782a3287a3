import type { BusRecord } from '../bus/port.ts'
import { type Clock, sleep, systemClock } from '../clock.ts'
import type { decodeCodes } from '../telemetry/labels.ts'
import { Truncated } from './cursor.ts'
import { RegistryUnavailable, SchemaNotFound, SchemaUnreadable } from './errors.ts'
import { type RecordReading, readingOf, readRecord } from './reading.ts'
import type { SchemaRegistry } from './registry.ts'
import { schemas } from './schemas.ts'

/** How long, and after which first pause, a missing schema is requested again, since a registry replica may lag. */
const patienceMs = 10_000
const firstPauseMs = 250
/** How long a refused schema is not requested again. The registry may have been wrong. */
const refusedMs = 60_000
/** The same for a replayed record, whose schema was probably registered since. Any producer can write its header. */
export const refusedForReplaysMs = 2_000
/**
 * A lagging replica lacks one or two schemas. With more missing, for a minute none is requested again: foreign bytes can name
 * any number of schemas, and other records wait meanwhile.
 */
const mostAwaited = 4
/** Bound of the remembered refusals, since foreign bytes can name any number of schemas. */
const mostRefused = 10_000
/**
 * Most bytes of a command. Kafka limits only the compressed size: a value of 60 MiB that compresses to a few KiB takes seconds
 * to read and validate.
 */
const longestCommand = 1 << 20
/** The same of other records. */
export const longestOther = 1 << 23
/** Bound of the remembered schemas of a decoder. A schema of the published size takes a hundredth of it. */
const mostBytes = 32 << 20
/** Confluent wire format: a zero byte, the schema's id in 4 bytes, the body. */
const headerBytes = 5

/** Settings that make Apicurio's Java serializer use Confluent's wire format. */
export const apicurioSettings =
  'apicurio.registry.headers.enabled=false, apicurio.registry.as-confluent=true and apicurio.registry.use-id=contentId'

export type DecodeCode = (typeof decodeCodes)[number]

/** Why a record can never be decoded. The message contains nothing of the record's content. */
export interface DecodeError {
  code: DecodeCode
  message: string
}

export type Decoded<T> =
  /** `flaw` describes a fault that does not prevent decoding, such as a string that is not UTF-8. */
  | { ok: true; value: T; flaw?: string }
  /** The writer's schema is not loaded yet: await `prepare(id)`, then decode again. */
  | { ok: false; pending: number }
  | Failure

type Failure = { ok: false; error: DecodeError }

export interface DecoderOptions {
  clock?: Clock
  /** Whether to retry a schema that the registry does not have. Default false. */
  patient?: boolean
}

export type Decoder<T> = ReturnType<typeof createDecoder<T>>

/** Decodes records of any compatible writer's schema into the reader's schema. */
export function createDecoder<T>(
  readerSchema: object,
  registry: SchemaRegistry,
  { clock = systemClock, patient = false }: DecoderOptions = {},
) {
  const longest = readerSchema === schemas.command ? longestCommand : longestOther
  const schemaOf = patient ? patientReader(registry, clock) : (id: number) => registry.schemaOf(id)
  const readings = new RememberedReadings()
  const refused = new Map<number, Refusal>()
  const asked = new Map<number, Promise<void>>()

  const isRefused = (refusal: Refusal | undefined, withinMs = refusedMs): refusal is Refusal =>
    refusal !== undefined && clock.monotonic() < refusal.since + withinMs

  async function learn(schemaId: number): Promise<void> {
    try {
      // not patiently: with forged replays a producer could delay its partition again and again
      const schema = await (isRefused(refused.get(schemaId)) ? registry.schemaOf(schemaId) : schemaOf(schemaId))
      const reading = readingOf(readerSchema, schema, schemaId)
      readings.add(schemaId, reading)
      refused.delete(schemaId)
    } catch (error) {
      if (error instanceof SchemaNotFound) refuse(schemaId, 'SCHEMA_NOT_FOUND', error.message)
      else if (error instanceof SchemaUnreadable) refuse(schemaId, 'SCHEMA_INCOMPATIBLE', error.message)
      else throw error instanceof Error ? error : new RegistryUnavailable(`the schema registry failed: ${error}`)
    }
  }

  function refuse(schemaId: number, code: DecodeCode, message: string): void {
    if (refused.size >= mostRefused) refused.clear()
    refused.set(schemaId, { error: { code, message }, since: clock.monotonic() })
  }

  return {
    /**
     * Decodes a value; null is a tombstone.
     * @param refusedWithinMs a schema that was refused longer ago is pending, and requested once more
     */
    decode(value: Buffer | null, refusedWithinMs?: number): Decoded<T> {
      if (value === null) return failed('NO_VALUE', 'The record has no value: it is a tombstone.')
      if (value.length > longest) {
        const text = `The value has ${value.length} bytes, more than ${longest}: keep other data out of the topic.`
        return failed('VALUE_TOO_LARGE', text)
      }
      const schemaId = schemaIdOf(value)
      if (typeof schemaId !== 'number') return schemaId
      const reading = readings.get(schemaId)
      if (reading !== undefined) return decodeBody(reading, value, schemaId)
      const refusal = refused.get(schemaId)
      if (isRefused(refusal, refusedWithinMs)) return { ok: false, error: refusal.error }
      return { ok: false, pending: schemaId }
    },
    /**
     * Loads the writer's schema. Also resolves when the schema is missing or unusable; `decode` then returns the error. A
     * patient decoder retries a missing schema for some seconds.
     * @throws RegistryUnavailable when the registry cannot be reached; retry
     */
    prepare(schemaId: number): Promise<void> {
      if (readings.get(schemaId)) return Promise.resolve()
      const asking = asked.get(schemaId) ?? learn(schemaId).finally(() => asked.delete(schemaId))
      asked.set(schemaId, asking)
      return asking
    },
  }
}

/** How to read the records of the latest schemas, within the bound of memory. */
class RememberedReadings {
  readonly #readings = new Map<number, RecordReading>()
  #bytes = 0

  get(schemaId: number): RecordReading | undefined {
    return this.#readings.get(schemaId)
  }

  /** Adds a new schema. Forgets the oldest ones to make room. */
  add(schemaId: number, reading: RecordReading): void {
    this.#bytes += reading.bytes
    for (const [oldest, { bytes }] of this.#readings) {
      if (this.#bytes <= mostBytes) break
      this.#readings.delete(oldest)
      this.#bytes -= bytes
    }
    this.#readings.set(schemaId, reading)
  }
}

/** `since`: monotonic milliseconds. */
type Refusal = { error: DecodeError; since: number }

function schemaIdOf(value: Buffer): number | Failure {
  if (value.length < headerBytes || value[0] !== 0) {
    const text =
      'The value does not begin with a zero byte and a schema id: write it with the serializer of a schema registry.'
    return failed('NOT_CONFLUENT', text)
  }
  const id = value.readInt32BE(1)
  if (id > 0) return id
  const text =
    id === 0
      ? `The schema's id has 8 bytes, or is 0: with Apicurio's serializer set ${apicurioSettings}.`
      : 'The bytes after the zero byte are no schema id of a registry: write it with the serializer of a schema registry.'
  return failed('NOT_CONFLUENT', text)
}

/**
 * Reads schemas, and retries missing ones for some seconds and only a few at a time.
 * @returns a function that throws SchemaNotFound when the retries end, or when too many schemas are missing
 */
function patientReader(registry: SchemaRegistry, clock: Clock): (schemaId: number) => Promise<object> {
  /** Missing schemas that are being retried, or were within the last minute. */
  const awaitedUntil = new Map<number, number>()
  let impatientUntil = Number.NEGATIVE_INFINITY

  function isAwaited(schemaId: number): boolean {
    const now = clock.monotonic()
    if (now < impatientUntil) return false
    for (const [id, until] of awaitedUntil) if (until <= now) awaitedUntil.delete(id)
    if (awaitedUntil.size < mostAwaited || awaitedUntil.has(schemaId)) {
      awaitedUntil.set(schemaId, now + refusedMs)
      return true
    }
    impatientUntil = now + refusedMs
    awaitedUntil.clear()
    return false
  }

  return async schemaId => {
    const until = clock.monotonic() + patienceMs
    for (let pause = firstPauseMs; ; pause *= 2) {
      try {
        return await registry.schemaOf(schemaId)
      } catch (error) {
        if (!(error instanceof SchemaNotFound) || !isAwaited(schemaId)) throw error
        const left = until - clock.monotonic()
        if (left <= 0) throw error
        await sleep(clock, Math.min(pause, left))
      }
    }
  }
}

function decodeBody<T>(reading: RecordReading, bytes: Buffer, schemaId: number): Decoded<T> {
  try {
    const { value, flaw, end } = readRecord(reading, bytes, headerBytes)
    if (end < bytes.length) {
      return failed('TRAILING_BYTES', `${bytes.length - end} bytes follow the record of schema ${schemaId}.`)
    }
    return flaw === null ? { ok: true, value: value as T } : { ok: true, value: value as T, flaw }
  } catch (error) {
    const { message } = error as Error
    if (error instanceof Truncated) return failed('TRUNCATED', `The record ends before its schema ${schemaId} does.`)
    if (error instanceof SchemaUnreadable) {
      const { name } = reading.wanted
      return failed('SCHEMA_INCOMPATIBLE', `The record of schema ${schemaId} cannot be read as ${name}: ${message}.`)
    }
    return failed('DECODE', `The bytes do not follow schema ${schemaId}: ${message}.`)
  }
}

function failed(code: DecodeCode, message: string): Failure {
  return { ok: false, error: { code, message } }
}

const retryMs = 1000

export type Definite<T> = { ok: true; value: T } | Failure

/**
 * Decodes a value. Retries while the registry is unavailable.
 * @param wanted whether the value is still needed
 * @returns null if it is not needed any more
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

/** Whether the record may become readable once its schema is registered or busgate is upgraded. Any other record is foreign. */
export function isReadableLater({ code }: DecodeError): boolean {
  return code === 'SCHEMA_NOT_FOUND' || code === 'SCHEMA_INCOMPATIBLE'
}

/** Decodes records. @throws RegistryUnavailable */
export async function decodeAll<T>(decoder: Decoder<T>, records: readonly BusRecord[]): Promise<Decoded<T>[]> {
  const all: Decoded<T>[] = []
  for (const { value } of records) {
    const decoded = decoder.decode(value)
    if ('pending' in decoded) await decoder.prepare(decoded.pending)
    all.push('pending' in decoded ? decoder.decode(value) : decoded)
  }
  return all
}
