import type { Resolver, Type } from 'avsc'
import { type Clock, sleep, systemClock } from '../clock.ts'
import { avroTypeOf, refuseOtherUnits } from './avro.ts'
import { refuseWeightlessItems } from './bounds.ts'
import { SchemaNotFound, type SchemaRegistry, SchemaUnreadable } from './registry.ts'

/** How long, and after which pauses, a schema that the registry does not have is asked for again: a replica may lag. */
const patienceMs = 10_000
const firstPauseMs = 250
/** How long a "there is no such schema" of the registry is believed after that. */
const notFoundMs = 60_000
/** Foreign bytes can name any number of schemas: at most so many are asked for again at the same time. */
const mostAwaited = 64
/** No schema is asked for again while so many of them are believed to be missing. */
const mostMissed = 4
/** Foreign bytes can name any number of schemas; more refusals than this are not worth remembering. */
const mostRefused = 10_000
/** Confluent wire format: a zero byte, the schema's id in 4 bytes, the body. */
const headerBytes = 5

export type DecodeCode =
  | 'NO_VALUE'
  | 'NOT_CONFLUENT'
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
  | { ok: true; value: T }
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
  /** How each writer's records are read; null: as the reader's own. */
  const resolvers = new Map<number, Resolver | null>()
  const refused = new Map<number, { error: DecodeError; until: number }>()
  const asked = new Map<number, Promise<void>>()
  const awaited = new Set<number>()
  /** Until when it is believed that schemas which were asked for again in vain are not there. */
  let missed: number[] = []

  function decode(value: Buffer | null): Decoded<T> {
    if (value === null) return failed('NO_VALUE', 'The record has no value: a command topic takes no tombstones.')
    if (value.length < headerBytes || value[0] !== 0) {
      return failed(
        'NOT_CONFLUENT',
        'The value does not begin with a zero byte and a schema id: write it with the serializer of a schema registry.',
      )
    }
    const schemaId = value.readUInt32BE(1)
    const resolver = resolvers.get(schemaId)
    return resolver === undefined ? withoutSchema(schemaId) : decodeBody(reader, resolver, value, schemaId)
  }

  function withoutSchema(schemaId: number): Decoded<T> {
    const refusal = refused.get(schemaId)
    if (refusal && clock.monotonic() < refusal.until) return { ok: false, error: refusal.error }
    return { ok: false, pending: schemaId }
  }

  function prepare(schemaId: number): Promise<void> {
    if (resolvers.has(schemaId)) return Promise.resolve()
    const asking = asked.get(schemaId) ?? learn(schemaId).finally(() => asked.delete(schemaId))
    asked.set(schemaId, asking)
    return asking
  }

  async function learn(schemaId: number): Promise<void> {
    try {
      resolvers.set(schemaId, resolverFor(await schemaOf(schemaId), schemaId))
      refused.delete(schemaId)
    } catch (error) {
      if (error instanceof SchemaNotFound) refuse(schemaId, 'SCHEMA_NOT_FOUND', error.message, notFoundMs)
      else if (error instanceof SchemaUnreadable) refuse(schemaId, 'SCHEMA_INCOMPATIBLE', error.message, Infinity)
      else throw error
    } finally {
      awaited.delete(schemaId)
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
        if (left <= 0) {
          missed.push(clock.monotonic() + notFoundMs)
          throw error
        }
        await sleep(clock, Math.min(pause, left))
      }
    }
  }

  function isAwaited(schemaId: number): boolean {
    if (awaited.has(schemaId)) return true
    missed = missed.filter(until => clock.monotonic() < until)
    if (!patient || awaited.size >= mostAwaited || missed.length >= mostMissed) return false
    awaited.add(schemaId)
    return true
  }

  function resolverFor(writerSchema: object, schemaId: number): Resolver | null {
    try {
      const writer = avroTypeOf(writerSchema)
      refuseWeightlessItems(writer)
      refuseOtherUnits(readerSchema, writerSchema)
      return reader.equals(writer) ? null : reader.createResolver(writer, { ignoreNamespaces: true })
    } catch (error) {
      const { message } = error as Error
      throw new SchemaUnreadable(
        `Schema ${schemaId} cannot be read as ${reader.name}: ${message}. Write with the published schema, or upgrade busgate first.`,
      )
    }
  }

  function refuse(schemaId: number, code: DecodeCode, message: string, forMs: number): void {
    if (refused.size >= mostRefused) refused.clear()
    refused.set(schemaId, { error: { code, message }, until: clock.monotonic() + forMs })
  }

  return { decode, prepare }
}

function decodeBody<T>(reader: Type, resolver: Resolver | null, value: Buffer, schemaId: number): Decoded<T> {
  try {
    const { value: record, offset } = reader.decode(value, headerBytes, resolver ?? undefined)
    if (offset === value.length) return { ok: true, value: record }
    if (offset === -1) return failed('TRUNCATED', `The record ends before its schema ${schemaId} does.`)
    return failed('TRAILING_BYTES', `${value.length - offset} bytes follow the record of schema ${schemaId}.`)
  } catch (error) {
    return failed('DECODE', `The bytes do not follow schema ${schemaId}: ${(error as Error).message}.`)
  }
}

function failed(code: DecodeCode, message: string): { ok: false; error: DecodeError } {
  return { ok: false, error: { code, message } }
}
