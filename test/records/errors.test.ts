import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDecoder } from '../../src/records/decoder.ts'
import { RegistryUnavailable } from '../../src/records/errors.ts'
import { schemas } from '../../src/records/schemas.ts'
import { decodeWith, recordOf } from './codec.ts'

/** What a registry's error means for the record, by its code. */
const meanings: Record<string, string> = {
  SCHEMA_NOT_FOUND: 'SCHEMA_NOT_FOUND',
  SCHEMA_UNREADABLE: 'SCHEMA_INCOMPATIBLE',
  REGISTRY_UNAVAILABLE: 'retried',
}

/** Anything that the registry of a service may throw: errors of any class and code, and what is no error. */
const thrown = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(Error, TypeError, class SchemaMissing extends Error {}),
      fc.oneof(fc.constantFrom(...Object.keys(meanings)), fc.string(), fc.integer()),
    )
    .map(([Kind, code]) => Object.assign(new Kind('of the service'), { code })),
  fc.constantFrom(...Object.keys(meanings)).map(code => ({ code, message: 'of the service' })),
  fc.anything(),
)

test('whatever the registry of a service throws, its code decides whether a record is unreadable or retried', async () => {
  await fc.assert(
    fc.asyncProperty(thrown, async error => {
      const registry = { schemaOf: () => Promise.reject(error), idOf: () => Promise.resolve(1) }
      const decoding = decodeWith(createDecoder(schemas.command, registry), recordOf(1, [0]))
      const found = await decoding.then(
        decoded => (decoded.ok || 'pending' in decoded ? 'read' : decoded.error.code),
        (error: unknown) => (error instanceof Error ? 'retried' : 'no error'),
      )
      const code = String((error as { code?: unknown } | null | undefined)?.code)
      expect(found).toBe(Object.hasOwn(meanings, code) ? meanings[code] : 'retried')
    }),
  )
})

test('an error of another copy of the package is recognised', () => {
  const foreign = class RegistryUnavailable extends Error {
    readonly code = 'REGISTRY_UNAVAILABLE'
  }
  expect(new foreign() instanceof RegistryUnavailable).toBe(true)
  expect(new Error() instanceof RegistryUnavailable).toBe(false)
})
