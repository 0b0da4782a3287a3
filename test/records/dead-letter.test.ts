import { expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { deadLetter } from '../../src/records/dead-letter.ts'

const from = { topic: 'busgate.commands', partition: 3 }
const record: BusRecord = {
  offset: 42,
  timestamp: 1_763_000_000_000,
  key: Buffer.from('1001'),
  value: Buffer.from([0, 0, 0, 0, 9, 1, 2, 3]),
  headers: { trace: ['a', 'b'], origin: Buffer.from('shop') },
}
const reason = { code: 'SCHEMA_NOT_FOUND', message: 'the registry knows no schema 9' } as const

test('a dead letter is the unchanged record, with headers that say why it is here and where it came from', () => {
  expect(deadLetter('busgate.dead-letters', { ...from, record }, reason)).toMatchObject({
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

test('a dead letter that is too large omits value, headers and a long key, and says so', () => {
  const key = Buffer.alloc(2000, 'k')
  const large = { ...record, key, value: Buffer.alloc(1_000_000), headers: { blob: 'x'.repeat(2000) } }
  const shorter = deadLetter('busgate.dead-letters', { ...from, record: large }, reason).shorter!()
  expect(shorter).toMatchObject({ key: Buffer.from('busgate.commands/3@42'), value: null })
  expect(shorter.headers).not.toHaveProperty('blob')
  expect(shorter.headers).toMatchObject({
    'busgate.error.offset': '42',
    'busgate.error.key': 'none',
    'busgate.error.message':
      'the registry knows no schema 9 (too large to be copied: its value of 1000000 bytes, and its headers)',
  })
})

test('a record without a value is a dead letter without one', () => {
  const letter = deadLetter('busgate.dead-letters', { ...from, record: { ...record, value: null } }, reason)
  expect([letter.value, letter.headers?.['busgate.error.message']]).toEqual([null, reason.message])
})

test('the dead letter of a record without a key has its coordinates as key, and says so', () => {
  const letter = deadLetter('busgate.dead-letters', { ...from, record: { ...record, key: null } }, reason)
  expect([letter.key?.toString(), letter.headers?.['busgate.error.key']]).toEqual(['busgate.commands/3@42', 'none'])
  const keyed = deadLetter('busgate.dead-letters', { ...from, record }, reason)
  expect(keyed.headers).not.toHaveProperty('busgate.error.key')
})

test('a message that is too long is cut', () => {
  const letter = deadLetter('busgate.dead-letters', { ...from, record }, { ...reason, message: 'x'.repeat(50_000) })
  expect(letter.headers?.['busgate.error.message']).toHaveLength(1024)
})

test('a dead letter for a batch of records names its last offset too', () => {
  const unreadable = { code: 'BATCH_CORRUPT', message: 'why', lastOffset: 47 } as const
  const rotten: BusRecord = { ...record, key: null, value: null, headers: {}, unreadable }
  const headersOf = (one: BusRecord) => deadLetter('busgate.dead-letters', { ...from, record: one }, reason).headers
  expect(headersOf(rotten)).toMatchObject({ 'busgate.error.offset': '42', 'busgate.error.last-offset': '47' })
  expect(headersOf({ ...rotten, unreadable: { ...unreadable, lastOffset: 42 } })).not.toHaveProperty(
    'busgate.error.last-offset',
  )
})

test("headers of a record that imitate busgate's are not copied into its dead letter", () => {
  const headers = {
    trace: 'a',
    'busgate.error.key': 'none',
    'busgate.error.last-offset': '99',
    'busgate.replayed.from': 'busgate.dead-letters/0@5',
    'busgate.lifetime': ['60', '60'],
  }
  const letter = deadLetter('busgate.dead-letters', { ...from, record: { ...record, headers } }, reason)
  expect(Object.keys(letter.headers!).toSorted()).toEqual([
    'busgate.error.code',
    'busgate.error.message',
    'busgate.error.offset',
    'busgate.error.partition',
    'busgate.error.stage',
    'busgate.error.timestamp',
    'busgate.error.topic',
    'trace',
  ])
  expect(letter.headers?.trace).toBe('a')
})
