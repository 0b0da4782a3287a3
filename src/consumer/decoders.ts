import type { RecordHeaders } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { createDecoder } from '../records/decoder.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { registryOf } from '../records/open.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { withCodeOf } from '../records/result.ts'
import { schemas } from '../records/schemas.ts'

/** Decoders of what busgate publishes, for a consumer of one's own, such as the `eachMessage` of kafkajs. */
export interface Decoders {
  /**
   * @param headers of the same message: where `delivery.codes` is `header`, they hold the result's `code`
   * @throws as `decodeStatus`
   */
  decodeResult(value: Buffer | null, headers?: RecordHeaders): Promise<SendResult>
  /**
   * @throws UnreadableValueError when it is no such record; RegistryUnavailable while the schema registry cannot be
   * asked: then try again later, as kafkajs does with an `eachMessage` that throws
   */
  decodeStatus(value: Buffer | null): Promise<StatusEvent>
}

/** A value that is no result or status event, or that nobody can decode. The message holds nothing of its content. */
export class UnreadableValueError extends Error {
  override readonly name = 'UnreadableValueError'
  /** Why, e.g. NOT_CONFLUENT or SCHEMA_NOT_FOUND. */
  readonly code: string

  constructor(code: string, why: string) {
    super(`the value cannot be read: ${why}`)
    this.code = code
  }
}

/** Parts that decoders take from their caller. */
export interface DecodersOptions {
  /** Instead of the one that the settings name. */
  registry?: SchemaRegistry
}

/** Makes decoders of results and status events that ask the registry of the settings for each schema once. */
export function createDecoders(
  settings: Settings,
  { registry = registryOf(settings) }: DecodersOptions = {},
): Decoders {
  const decoderOf = <T>(schema: object) => {
    const decoder = createDecoder<T>(schema, registry, { patient: true })
    return async (value: Buffer | null): Promise<T> => {
      for (;;) {
        const decoded = decoder.decode(value)
        if ('pending' in decoded) await decoder.prepare(decoded.pending)
        else if (decoded.ok) return decoded.value
        else throw new UnreadableValueError(decoded.error.code, decoded.error.message)
      }
    }
  }
  const decodeResult = decoderOf<SendResult>(schemas.result)
  return {
    decodeResult: async (value, headers = {}) => withCodeOf(await decodeResult(value), headers),
    decodeStatus: decoderOf<StatusEvent>(schemas.status),
  }
}
