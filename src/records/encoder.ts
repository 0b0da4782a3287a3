import type { Type } from 'avsc'
import { typeOf } from './avro.ts'
import type { SchemaRegistry } from './registry.ts'

const HEADER = 5

/**
 * Registers the schema under the subject and resolves with the function that writes its records
 * in the Confluent wire format. Fields with a default may be left out. The function throws an Error that
 * names the field, never its content.
 * @throws RegistryUnavailable, SchemaRefused
 */
export async function createEncoder<T>(
  subject: string,
  schema: object,
  registry: SchemaRegistry,
): Promise<(value: T) => Buffer> {
  const type = typeOf(schema)
  const schemaId = await registry.idOf(subject, schema)
  let scratch = withHeader(2048, schemaId)

  return value => {
    let end = write(type, value, scratch)
    if (end < 0) {
      scratch = withHeader(scratch.length - end, schemaId)
      end = write(type, value, scratch)
    }
    return Buffer.from(scratch.subarray(0, end))
  }
}

function withHeader(size: number, schemaId: number): Buffer {
  const buffer = Buffer.alloc(size)
  buffer.writeUInt32BE(schemaId, 1)
  return buffer
}

/** Answers where the record ends, or the number of missing bytes, negative. */
function write(type: Type, value: unknown, buffer: Buffer): number {
  try {
    return type.encode(value, buffer, HEADER)
  } catch {
    // avsc's own message holds the value: a phone number, a text.
    throw new Error(`Not a ${type.name}: ${complaints(type, value).join('; ')}`)
  }
}

function complaints(type: Type, value: unknown): string[] {
  const found: string[] = []
  type.isValid(value, {
    errorHook: (path, _value, expected) => found.push(`${path.join('.')} is no ${kindOf(expected)}`),
  })
  return found
}

function kindOf(type: Type): string {
  return type.name ?? JSON.stringify(type.schema())
}
