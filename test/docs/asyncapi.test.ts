import { readFileSync } from 'node:fs'
import asyncapi from '@asyncapi/specs/schemas/3.0.0.json' with { type: 'json' }
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadSettings } from '../../src/config/index.ts'
import { version } from '../../src/package.ts'
import { errorHeaders } from '../../src/records/dead-letter.ts'

interface Document {
  info: { version: string }
  channels: Record<string, { messages: Record<string, Reference> }>
  operations: Record<string, { channel: Reference; messages: Reference[] }>
  components: { messages: Record<string, { payload?: { schema: unknown }; headers: { properties: object } }> }
}

interface Reference {
  $ref: string
}

const path = new URL('../../docs/asyncapi.yaml', import.meta.url)

/** The document, with each schema reference replaced by the schema. */
function read(): Document {
  const document = parse(readFileSync(path, 'utf8'))
  for (const { payload } of Object.values((document as Document).components.messages)) {
    if (payload) payload.schema = JSON.parse(readFileSync(new URL((payload.schema as Reference).$ref, path), 'utf8'))
  }
  return document
}

/** Resolves a reference. */
function at(document: object, { $ref }: Reference): unknown {
  const steps = $ref.replace(/^#\//, '').split('/')
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], document)
}

test('docs/asyncapi.yaml is an AsyncAPI 3 document of this version', () => {
  // AsyncAPI's schema includes JSON Schema's own, and defines further formats.
  const options = { strict: false, validateFormats: false, meta: false, validateSchema: false }
  const validate = new Ajv(options).compile(asyncapi)
  const document = read()
  validate(document)
  expect(validate.errors).toBeNull()
  expect(document.info.version).toBe(version)
})

test('each operation in docs/asyncapi.yaml names a message of its channel, and each message exists', () => {
  const document = read()
  const operations = Object.values(document.operations)
  expect(operations).toHaveLength(Object.keys(document.channels).length)
  for (const { channel, messages } of operations) {
    for (const message of messages) {
      expect(message.$ref.startsWith(`${channel.$ref}/messages/`)).toBe(true)
      expect(at(document, at(document, message) as Reference)).toHaveProperty('name')
    }
  }
})

test('docs/asyncapi.yaml describes the public topics and every header of a dead letter', () => {
  const { topics } = loadSettings({ env: {} })
  const { channels, components } = read()
  const { commands, results, statuses, deadLetters } = topics
  expect(Object.keys(channels)).toEqual([...commands, results, statuses, deadLetters])
  expect(Object.keys(components.messages.DeadLetter!.headers.properties)).toEqual(Object.values(errorHeaders))
})
