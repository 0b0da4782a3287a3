import assert from 'node:assert/strict'
import fc from 'fast-check'
import { SchemaNotFound, SchemaUnreadable } from '../../../src/records/errors.ts'
import { confluentRegistry } from '../../../src/records/registry.ts'
import { schemas } from '../../../src/records/schemas.ts'
import { startRegistry } from '../../records/registry-server.ts'
import { grammarOf } from '../grammar.ts'

/** Text that may be no name, or none that fits into a URL. */
const oddText = fc.oneof(
  fc.constantFrom('', '__proto__', 'toString', '../../config', 'a/b?c#d', '\ud800', 'a'.repeat(5000)),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

const schemaText = fc.oneof(
  fc.constant(JSON.stringify(schemas.result)),
  fc.constantFrom('"', '{}', '[]', 'null', '"string"', '{"type":"record"}', '['.repeat(100_000)),
  fc.json({ maxDepth: 4 }),
  fc.string({ unit: 'binary' }),
)

const reference = fc.record(
  { name: oddText, subject: fc.oneof(oddText, fc.jsonValue()), version: fc.oneof(fc.nat(3), fc.jsonValue()) },
  { requiredKeys: [] },
)

/** The body of an answer about a schema: the usual shape with any part of it replaced, or any JSON. */
const body = fc.oneof(
  fc.record(
    {
      schema: fc.oneof({ arbitrary: schemaText, weight: 5 }, { arbitrary: fc.jsonValue(), weight: 1 }),
      schemaType: fc.oneof(fc.constantFrom('AVRO', 'JSON', 'PROTOBUF'), fc.jsonValue()),
      references: fc.oneof(fc.array(reference, { maxLength: 4 }), fc.jsonValue()),
      error_code: fc.oneof(fc.constantFrom(40401, 40402, 40403), fc.jsonValue()),
      message: fc.oneof(oddText, fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
)

interface RegistryAnswer {
  status: number
  text: string
}

/** Any answer of a registry, or of a proxy in front of it. */
const registryAnswer: fc.Arbitrary<RegistryAnswer> = fc.record({
  status: fc.oneof(
    { arbitrary: fc.constant(200), weight: 4 },
    { arbitrary: fc.constantFrom(204, 301, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503), weight: 1 },
  ),
  text: fc.oneof(
    { arbitrary: body.map(value => JSON.stringify(value) ?? ''), weight: 6 },
    { arbitrary: oddText, weight: 1 },
  ),
})

/**
 * Asks for schemas 4, 5, …, each with one of these answers. Every end is one of the three documented ones, and schema 1 is
 * returned whatever the others are.
 */
async function registryEndsAsDocumented(answers: readonly RegistryAnswer[]): Promise<void> {
  const server = await startRegistry()
  try {
    const registry = confluentRegistry({ url: server.url })
    const own = await registry.idOf('busgate.results-value', schemas.result)
    server.fail((request, response) => {
      const id = Number(request.url?.match(/^\/schemas\/ids\/(\d+)$/)?.[1] ?? 4)
      if (id === own) response.writeHead(200).end(JSON.stringify({ schema: JSON.stringify(schemas.result) }))
      else {
        const { status, text } = answers[(id - 4) % answers.length]!
        response.writeHead(status).end(status === 204 ? undefined : text)
      }
    })
    for (const [i] of answers.entries()) {
      const end = await registry.schemaOf(4 + i).catch(error => error)
      // never RegistryUnavailable, since it answers for others
      if (end instanceof Error) assert.ok(end instanceof SchemaNotFound || end instanceof SchemaUnreadable, end)
    }
    assert.deepEqual(await registry.schemaOf(own), schemas.result)
  } finally {
    await server.stop()
  }
}

export const registry = grammarOf(
  'answers of a schema registry',
  {
    'each request for a schema ends as documented': fc.asyncProperty(
      fc.array(registryAnswer, { minLength: 1, maxLength: 20 }),
      registryEndsAsDocumented,
    ),
  },
  10,
)
