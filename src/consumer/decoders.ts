import type { RecordHeaders } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { createDecoder } from '../records/decoder.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { registryOf, type SchemaRegistry } from '../records/registry.ts'
import { withCodeOf } from '../records/result.ts'
import { schemas } from '../records/schemas.ts'

/** Decodes results and status events in your own consumer, such as the `eachMessage` of kafkajs. */
export interface Decoders {
  /**
   * @param headers of the same record; with `results.otpCode=header` they hold the result's `code`
   * @throws as `decodeStatus`
   */
  decodeResult(value: Buffer | null, headers?: RecordHeaders): Promise<SendResult>
  /**
   * @throws UnreadableValueError when the value is not a status event; RegistryUnavailable while the schema registry is
   * unreachable: let `eachMessage` throw it, and kafkajs retries
   */
  decodeStatus(value: Buffer | null): Promise<StatusEvent>
}

/** A value is not a result or status event, or cannot be decoded. The message holds none of its content. */
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
  /** The schema registry. Default: the one in the settings. */
  registry?: SchemaRegistry
}

/** Creates decoders of results and status events. They fetch each schema once from the registry in the settings. */
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
