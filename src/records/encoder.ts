import { Buffer } from 'node:buffer'
import type { Type } from 'avsc'
import { avroTypeOf, wellFormed } from './avro.ts'
import type { SchemaRegistry } from './registry.ts'

const headerBytes = 5
/** Size of the buffer that consecutive records share. */
const slabBytes = 64 * 1024

/**
 * Registers the schema under the subject. Resolves with a function that encodes records in the Confluent wire format. Fields
 * with a default may be omitted. The function throws an Error that names the invalid field, without its content.
 * @param write writes a record at a position; returns the end position, or the negated number of missing bytes
 * @throws RegistryUnavailable, SchemaRefused
 */
export async function createEncoder<T>(
  subject: string,
  schema: object,
  registry: SchemaRegistry,
  write: (value: T, buffer: Buffer, start: number) => number = byAvsc(schema),
): Promise<(value: T) => Buffer> {
  const schemaId = await registry.idOf(subject, schema)
  let slab = Buffer.allocUnsafe(slabBytes)
  let start = 0
  const renew = (bytes: number) => {
    slab = Buffer.allocUnsafe(bytes)
    start = 0
  }

  return value => {
    if (slab.length - start <= headerBytes) renew(slabBytes)
    let end = write(value, slab, start + headerBytes)
    if (end < 0) {
      renew(Math.max(slabBytes, slab.length - start - end))
      end = write(value, slab, headerBytes)
    }
    slab[start] = 0
    slab.writeUInt32BE(schemaId, start + 1)
    const record = slab.subarray(start, end)
    start = end
    return record
  }
}

function byAvsc(schema: object) {
  const type = avroTypeOf(schema)
  return (value: unknown, buffer: Buffer, start: number): number => {
    try {
      return type.encode(wellFormed(value), buffer, start)
    } catch {
      // avsc's own message contains the value, perhaps a phone number or a text
      throw new Error(`Not a ${type.name}: ${complaints(type, value).join('; ')}`)
    }
  }
}

function complaints(type: Type, value: unknown): string[] {
  const found: string[] = []
  type.isValid(value, {
    errorHook: (path, _value, expected) => found.push(`${path.join('.')} is not a ${kindOf(expected)}`),
  })
  return found
}

function kindOf(type: Type): string {
  return type.name ?? JSON.stringify(type.schema())
}
