import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import { RegistryUnavailable, SchemaNotFound } from '../../src/records/errors.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../src/records/generated.ts'
import type { SchemaRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'

const all: readonly object[] = Object.values(schemas)

/** The registry of all worlds. It has only the published schemas. */
export const registry: SchemaRegistry = {
  async schemaOf(id) {
    const schema = all[id - 1]
    if (!schema) throw new SchemaNotFound(`no schema ${id}`)
    return schema
  },
  idOf: async (_subject, schema) => all.indexOf(schema) + 1,
}

/** The registry behind a network. `passes` resolves after the delay of a request, to whether that is answered. */
export const remoteRegistry = (passes: () => Promise<boolean>): SchemaRegistry => ({
  idOf: registry.idOf,
  async schemaOf(id) {
    if (await passes()) return registry.schemaOf(id)
    throw new RegistryUnavailable('the registry does not answer')
  },
})

/** Writes commands and statuses, and reads results and doubts, for the world itself. */
export interface Codec {
  encode: (command: SendCommand) => Buffer
  result: (value: Buffer) => SendResult
  doubt: (value: Buffer) => Doubt
  writeStatus: (event: StatusEvent) => Buffer
}

let codec: Promise<Codec> | null = null

export function sharedCodec(): Promise<Codec> {
  codec ??= createCodec()
  return codec
}

async function createCodec(): Promise<Codec> {
  return {
    encode: await createEncoder<SendCommand>('', schemas.command, registry),
    result: await reader<SendResult>(schemas.result),
    doubt: await reader<Doubt>(schemas.doubt),
    writeStatus: await createEncoder<StatusEvent>('', schemas.status, registry),
  }
}

async function reader<T>(schema: object): Promise<(value: Buffer) => T> {
  const decoder = createDecoder<T>(schema, registry)
  await decoder.prepare(all.indexOf(schema) + 1)
  return value => {
    const decoded = decoder.decode(value)
    if (!decoded.ok) throw new Error(`the worker wrote an unreadable record: ${JSON.stringify(decoded)}`)
    return decoded.value
  }
}
