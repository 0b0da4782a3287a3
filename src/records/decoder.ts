import type { Type } from 'avsc'
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
const longestCommand = 2 << 20
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
  const reader = avroTypeOf(readerSchema)
  const longest = readerSchema === schemas.command ? longestCommand : Number.POSITIVE_INFINITY
  const readings = new Map<number, RecordReading>()
  const refused = new Map<number, { error: DecodeError; until: number }>()
  const asked = new Map<number, Promise<void>>()
  /** Schemas that are asked for again, or were in vain during the last minute. */
  const awaitedUntil = new Map<number, number>()
  let impatientUntil = Number.NEGATIVE_INFINITY

  function decode(value: Buffer | null): Decoded<T> {
    if (value === null) return failed('NO_VALUE', 'The record has no value: a command topic takes no tombstones.')
    if (value.length > longest) {
      const text = `The value has ${value.length} bytes, a command at most ${longest}: keep other data out of the command topics.`
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
    const reading = readings.get(schemaId)
    return reading === undefined ? withoutSchema(schemaId) : decodeBody(reader, reading, value, schemaId)
  }

  function withoutSchema(schemaId: number): Decoded<T> {
    const refusal = refused.get(schemaId)
    if (refusal && clock.monotonic() < refusal.until) return { ok: false, error: refusal.error }
    return { ok: false, pending: schemaId }
  }

  function prepare(schemaId: number): Promise<void> {
    if (readings.has(schemaId)) return Promise.resolve()
    const asking = asked.get(schemaId) ?? learn(schemaId).finally(() => asked.delete(schemaId))
    asked.set(schemaId, asking)
    return asking
  }

  async function learn(schemaId: number): Promise<void> {
    try {
      readings.set(schemaId, readingOf(readerSchema, await schemaOf(schemaId), schemaId))
      refused.delete(schemaId)
      awaitedUntil.delete(schemaId)
    } catch (error) {
      if (error instanceof SchemaNotFound) refuse(schemaId, 'SCHEMA_NOT_FOUND', error.message)
      else if (error instanceof SchemaUnreadable) refuse(schemaId, 'SCHEMA_INCOMPATIBLE', error.message)
      else throw error
    }
  }

  /** @throws SchemaNotFound when the registry has said so for long enough, or when there is no patience for it now. */
  async function schemaOf(schemaId: number): Promise<object> {
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

  function isAwaited(schemaId: number): boolean {
    const now = clock.monotonic()
    if (!patient || now < impatientUntil) return false
    for (const [id, until] of awaitedUntil) if (until <= now) awaitedUntil.delete(id)
    if (awaitedUntil.size < mostAwaited || awaitedUntil.has(schemaId)) {
      awaitedUntil.set(schemaId, now + refusedMs)
      return true
    }
    impatientUntil = now + refusedMs
    awaitedUntil.clear()
    return false
  }

  function refuse(schemaId: number, code: DecodeCode, message: string): void {
    if (refused.size >= mostRefused) refused.clear()
    refused.set(schemaId, { error: { code, message }, until: clock.monotonic() + refusedMs })
  }

  function refusals(): string[] {
    const now = clock.monotonic()
    const unreadable = [...refused.values()].filter(
      ({ error, until }) => error.code === 'SCHEMA_INCOMPATIBLE' && now < until,
    )
    if (unreadable.length <= 1) return unreadable.map(({ error }) => error.message)
    return [`${unreadable.length} schemas cannot be read, one of them: ${unreadable[0]!.error.message}`]
  }

  return { decode, prepare, refusals }
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
