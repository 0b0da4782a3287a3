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

test('a dead letter for a batch of records names its last offset too', () => {
  const unreadable = { code: 'BATCH_CORRUPT', message: 'why', lastOffset: 47 } as const
  const rotten: BusRecord = { ...record, key: null, value: null, headers: {}, unreadable }
  const headersOf = (one: BusRecord) => deadLetter('busgate.dead-letters', { ...from, record: one }, reason).headers
  expect(headersOf(rotten)).toMatchObject({ 'busgate.error.offset': '42', 'busgate.error.last-offset': '47' })
  expect(headersOf({ ...rotten, unreadable: { ...unreadable, lastOffset: 42 } })).not.toHaveProperty(
    'busgate.error.last-offset',
  )
})
