import { expect, test } from 'vitest'
import { envelopeBody, envelopeOverhead } from '../../src/gateway/connection.ts'

const operations = ['{"type":"sms","id":9007199254740993}', '{"type":"voice","id":2}']

test('an envelope is the key and the operations, digit by digit', () => {
  expect(envelopeBody('k"1', operations)).toBe(`{"auth":"k\\"1","data":[${operations.join(',')}]}`)
})

test('its overhead is what it is longer than its operations and the commas between them', () => {
  const key = 'ключ'
  expect(envelopeOverhead(key)).toBe(Buffer.byteLength(envelopeBody(key, operations)) - operations.join().length)
})
