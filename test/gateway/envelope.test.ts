import { expect, test } from 'vitest'
import { envelopeBody, envelopeOverhead } from '../../src/gateway/connection.ts'

const operations = ['{"type":"sms","id":9007199254740993}', '{"type":"voice","id":2}']

test('an envelope contains the key and the operations with every digit of their ids', () => {
  expect(envelopeBody('k"1', operations)).toBe(`{"auth":"k\\"1","data":[${operations.join(',')}]}`)
})

test("an envelope's overhead is its length without its operations and the commas between them", () => {
  const key = 'ключ'
  expect(envelopeOverhead(key)).toBe(Buffer.byteLength(envelopeBody(key, operations)) - operations.join().length)
})
