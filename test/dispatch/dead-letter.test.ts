import { expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { deadLetter } from '../../src/dispatch/dead-letter.ts'

const from = { topic: 'busgate.commands', partition: 3 }
const record: BusRecord = {
  offset: 42,
  timestamp: 1_763_000_000_000,
  key: Buffer.from('1001'),
  value: Buffer.from([0, 0, 0, 0, 9, 1, 2, 3]),
  headers: { trace: ['a', 'b'], origin: Buffer.from('shop') },
}
const reason = { stage: 'decode' as const, code: 'SCHEMA_NOT_FOUND', message: 'the registry knows no schema 9' }

test('a dead letter is the record as it came, with headers that say why it is here and where it was', () => {
  expect(deadLetter('busgate.dead-letters', from, record, reason)).toEqual({
    topic: 'busgate.dead-letters',
    key: record.key,
    value: record.value,
    headers: {
      trace: ['a', 'b'],
      origin: Buffer.from('shop'),
      'busgate.error.stage': 'decode',
      'busgate.error.code': 'SCHEMA_NOT_FOUND',
      'busgate.error.message': 'the registry knows no schema 9',
      'busgate.error.topic': 'busgate.commands',
      'busgate.error.partition': '3',
      'busgate.error.offset': '42',
      'busgate.error.timestamp': '1763000000000',
    },
  })
})

test('a value that the broker would refuse is left out, and the message says so', () => {
  const value = Buffer.alloc(1_000_000)
  const letter = deadLetter('busgate.dead-letters', from, { ...record, value }, reason)
  expect(letter.value).toBe(null)
  expect(letter.headers).toMatchObject({
    'busgate.error.message': expect.stringMatching(/schema 9 .*1000000 bytes .*too large/),
    'busgate.error.offset': '42',
  })
})

test('a record without a value is a dead letter without one, and nothing is said of its size', () => {
  const letter = deadLetter('busgate.dead-letters', from, { ...record, value: null }, reason)
  expect([letter.value, letter.headers?.['busgate.error.message']]).toEqual([null, reason.message])
})

test('a message that is too long is cut', () => {
  const letter = deadLetter('busgate.dead-letters', from, record, { ...reason, message: 'x'.repeat(50_000) })
  expect(letter.headers?.['busgate.error.message']).toHaveLength(1024)
})

test('a dead letter for a batch of records names its last offset too', () => {
  const unreadable = { code: 'BATCH_CORRUPT', message: 'why', lastOffset: 47 } as const
  const rotten: BusRecord = { ...record, key: null, value: null, headers: {}, unreadable }
  const headersOf = (one: BusRecord) => deadLetter('busgate.dead-letters', from, one, reason).headers
  expect(headersOf(rotten)).toMatchObject({ 'busgate.error.offset': '42', 'busgate.error.last-offset': '47' })
  expect(headersOf({ ...rotten, unreadable: { ...unreadable, lastOffset: 42 } })).not.toHaveProperty(
    'busgate.error.last-offset',
  )
})
