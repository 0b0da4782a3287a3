import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { RegistryUnavailable, SchemaNotFound, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'

const all: readonly object[] = Object.values(schemas)

/** The registry of all worlds: it has the published schemas and no other. */
export const registry: SchemaRegistry = {
  async schemaOf(id) {
    const schema = all[id - 1]
    if (!schema) throw new SchemaNotFound(`no schema ${id}`)
    return schema
  },
  idOf: async (_subject, schema) => all.indexOf(schema) + 1,
}

/** The registry over a network: `passes` answers whether it could be asked, and when. */
export const distantRegistry = (passes: () => Promise<boolean>): SchemaRegistry => ({
  idOf: registry.idOf,
  async schemaOf(id) {
    if (await passes()) return registry.schemaOf(id)
    throw new RegistryUnavailable('the registry does not answer')
  },
})

/** How the world itself writes commands and reads what comes of them. */
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
    if (!decoded.ok) throw new Error(`the worker wrote what cannot be read: ${JSON.stringify(decoded)}`)
    return decoded.value
  }
}
