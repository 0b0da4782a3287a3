import { expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { deadLetter } from '../../src/records/dead-letter.ts'

test('a dead letter for a batch of records names its last offset too', () => {
  const headersOf = (lastOffset: number) => {
    const unreadable = { code: 'BATCH_CORRUPT', message: 'why', lastOffset } as const
    const record: BusRecord = { offset: 42, timestamp: 0, key: null, value: null, headers: {}, unreadable }
    return deadLetter('busgate.dead-letters', { topic: 'busgate.commands', partition: 3, record }, unreadable).headers
  }
  expect(headersOf(47)).toMatchObject({ 'busgate.error.offset': '42', 'busgate.error.last-offset': '47' })
  expect(headersOf(42)).not.toHaveProperty('busgate.error.last-offset')
})
