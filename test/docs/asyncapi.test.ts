import { readFileSync } from 'node:fs'
import asyncapi from '@asyncapi/specs/schemas/3.0.0.json' with { type: 'json' }
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { schemas } from '../../src/records/schemas.ts'

interface Document {
  info: { title?: string }
  channels: Record<string, { messages: Record<string, Reference> }>
  operations: Record<string, { channel: Reference; messages: Reference[] }>
  components: { messages: Record<string, { payload: { schema: { name: string; fields: { name?: string }[] } } }> }
}

interface Reference {
  $ref: string
}

const text = readFileSync(new URL('../../docs/asyncapi.yaml', import.meta.url), 'utf8')
const read = (): Document => parse(text)

// AsyncAPI's schema brings the one of JSON Schema itself, and names formats of its own.
const validate = new Ajv({ strict: false, validateFormats: false, meta: false, validateSchema: false }).compile(
  asyncapi,
)
const complaints = (document: unknown) => (validate(document) ? [] : validate.errors!)

/** What a reference stands for. */
function at(document: object, { $ref }: Reference): unknown {
  const steps = $ref.replace(/^#\//, '').split('/')
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], document)
}

test('docs/asyncapi.yaml is an AsyncAPI 3 document', () => {
  expect(complaints(read())).toEqual([])
})

test.each<[string, (document: Document) => void]>([
  ['a missing title', ({ info }) => delete info.title],
  [
    'a field without a name',
    ({ components }) => {
      delete components.messages.SendCommand!.payload.schema.fields[0]!.name
    },
  ],
])('%s would be seen', (_, spoil) => {
  const document = read()
  spoil(document)
  expect(complaints(document)).not.toEqual([])
})

test('each operation names a message of its channel, and each message is there', () => {
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

test.each([
  ['busgate.commands.otp', 'SendCommand', schemas.command],
  ['busgate.commands', 'SendCommand', schemas.command],
  ['busgate.results', 'SendResult', schemas.result],
  ['busgate.statuses', 'StatusEvent', schemas.status],
])('%s carries %s, with the schema as it is published', (topic, message, schema) => {
  const { channels, components } = read()
  expect(Object.keys(channels[topic]!.messages)).toEqual([message])
  expect(components.messages[message]!.payload.schema).toEqual(schema)
})
