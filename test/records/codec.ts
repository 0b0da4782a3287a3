import type { Decoded, Decoder } from '../../src/records/decoder.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { type AvroRecord, schemas } from '../../src/records/schemas.ts'

/** The command schema with a change, as another version of a producer may have. */
export function changedCommandSchema(change: (schema: AvroRecord) => void): AvroRecord {
  const schema = structuredClone(schemas.command)
  change(schema)
  return schema
}

export async function encodeCommand(
  value: object,
  registry: SchemaRegistry,
  schema: object = schemas.command,
): Promise<Buffer> {
  const encode = await createEncoder<object>('busgate.commands-value', schema, registry)
  return encode(value)
}

/** Decodes as the worker does: it fetches a missing schema first. */
export async function decodeWith<T>(decoder: Decoder<T>, value: Buffer | null): Promise<Decoded<T>> {
  const first = decoder.decode(value)
  if (first.ok || !('pending' in first)) return first
  await decoder.prepare(first.pending)
  return decoder.decode(value)
}

/** Writes a value with this schema and decodes it as busgate does. */
export async function throughTheBus(value: object, schema: object = schemas.command): Promise<Decoded<SendCommand>> {
  const registry = embeddedRegistry()
  const bytes = await encodeCommand(value, registry, schema)
  return decodeWith(createDecoder<SendCommand>(schemas.command, registry), bytes)
}

/** A record in the Confluent wire format with this body. */
export function recordOf(schemaId: number, body: readonly number[] | Buffer): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt32BE(schemaId, 1)
  return Buffer.concat([header, Buffer.from(body)])
}

/** Encodes a long as Avro does: zig-zag, variable length. */
export function long(value: bigint | number): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number((rest & 0x7fn) | 0x80n))
  return [...bytes, Number(rest)]
}
