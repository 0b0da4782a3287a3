import { describe, expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { callbackLetter, deadLetter, originalKey, originOfLetter, replayMark } from '../../src/records/dead-letter.ts'

const from = { topic: 'busgate.commands', partition: 3 }
const reason = { code: 'NOT_CONFLUENT', message: 'why' } as const
const recordOf = (more: Partial<BusRecord> = {}): BusRecord => ({
  ...{ offset: 42, timestamp: 7, key: Buffer.from('1'), value: Buffer.from('content') },
  ...{ headers: { foreign: 'kept', 'busgate.error.code': 'imitated' } },
  ...more,
})
const letterOf = (record: BusRecord, more: object = {}) =>
  deadLetter('busgate.dead-letters', { ...from, record }, { ...reason, ...more })
const origin = {
  'busgate.error.stage': 'decode',
  'busgate.error.code': 'NOT_CONFLUENT',
  'busgate.error.message': 'why',
  'busgate.error.topic': 'busgate.commands',
  'busgate.error.partition': '3',
  'busgate.error.offset': '42',
  'busgate.error.timestamp': '7',
}

describe('a dead letter', () => {
  test('is the record with the reason and the origin, and without headers that imitate them', () => {
    expect(letterOf(recordOf())).toEqual({
      ...{ topic: 'busgate.dead-letters', key: Buffer.from('1'), value: Buffer.from('content') },
      headers: { foreign: 'kept', ...origin },
    })
  })

  test.each([
    ['was perhaps sent', { perhapsSent: true }, { 'busgate.error.perhaps-sent': 'true' }],
    ['was surely not sent', { perhapsSent: false }, {}],
    [
      'busgate itself failed on',
      { code: 'INTERNAL_ERROR' },
      { 'busgate.error.stage': 'handle', 'busgate.error.code': 'INTERNAL_ERROR' },
    ],
    ['has a long complaint', { message: 'x'.repeat(2_000) }, { 'busgate.error.message': 'x'.repeat(1_024) }],
  ])('says if the record %s', (_, more, headers) => {
    expect(letterOf(recordOf(), more).headers).toEqual({ foreign: 'kept', ...origin, ...headers })
  })

  test('names the copy of a command that has waited', () => {
    const { headers } = deadLetter('busgate.dead-letters', { ...from, record: recordOf(), copyAt: 50 }, reason)
    expect(headers).toEqual({ foreign: 'kept', ...origin, 'busgate.later.copy': '50' })
  })

  test('for a batch of records names its last offset too', () => {
    const lettersOf = (lastOffset: number) =>
      letterOf(recordOf({ value: null, unreadable: { code: 'BATCH_CORRUPT', message: 'why', lastOffset } }))
    expect(lettersOf(47).headers).toMatchObject({ 'busgate.error.offset': '42', 'busgate.error.last-offset': '47' })
    expect(lettersOf(42).headers).not.toHaveProperty('busgate.error.last-offset')
  })

  test.each([
    ['has the key of its record', Buffer.from('1')],
    ['has the place of a record without a key as its key, since a compacted topic refuses it without one', null],
  ])('%s', (_, key) => {
    const { key: own, headers = {} } = letterOf(recordOf({ key }))
    expect(String(own)).toBe(key === null ? 'busgate.commands/3@42' : '1')
    const read = recordOf({ key: Buffer.from(own!), headers })
    expect(originalKey(read)).toEqual(key)
    expect(originOfLetter(read)).toEqual({ ...from, offset: 42, timestamp: 7 })
  })

  test.each([
    [256, 'k'.repeat(256), undefined],
    [257, 'busgate.commands/3@42', 'none'],
  ])(
    'that is too large keeps where to find the record, and a key of %i bytes if it is not longer',
    (length, key, none) => {
      const record = recordOf({ key: Buffer.from('k'.repeat(length)), value: Buffer.alloc(2_000) })
      const shorter = letterOf(record, { perhapsSent: true }).shorter!()
      expect(String(shorter.key)).toBe(key)
      expect(shorter.value).toBe(null)
      expect(shorter.headers).toEqual({
        ...origin,
        'busgate.error.message': 'why (too large to be copied: its value of 2000 bytes, and its headers)',
        'busgate.error.perhaps-sent': 'true',
        ...(none && { 'busgate.error.key': none }),
      })
    },
  )

  test('that was replayed is marked with its place on its own partition', () => {
    const mark = { key: '3@42', value: null, headers: { 'busgate.replayed.letter': '3@42' } }
    expect(replayMark({ ...from, offset: 42 })).toEqual({ ...from, ...mark })
  })
})

test('the dead letter of a callback is its body with the reason; without the body if that is too large', () => {
  const letter = callbackLetter('busgate.dead-letters', Buffer.alloc(2_000), reason)
  const headers = {
    'busgate.error.stage': 'callback',
    'busgate.error.code': 'NOT_CONFLUENT',
    'busgate.error.message': 'why',
    'busgate.error.timestamp': expect.stringMatching(/^\d{13}$/),
  }
  expect(letter).toMatchObject({ topic: 'busgate.dead-letters', key: null, value: Buffer.alloc(2_000), headers })
  expect(letter.shorter!()).toEqual({
    ...{ topic: 'busgate.dead-letters', key: null, value: null },
    headers: { ...headers, 'busgate.error.message': 'why (too large to be kept: its body of 2000 bytes)' },
  })
})

test('a record that is no dead letter has no origin', () => {
  expect(originOfLetter(recordOf({ headers: {} }))).toBe(null)
})
