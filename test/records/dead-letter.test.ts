import { describe, expect, test } from 'vitest'
import type { BusRecord, LostRange, RecordsOf, Session } from '../../src/bus/port.ts'
import {
  callbackLetter,
  deadLetter,
  lostLetters,
  originalKey,
  originOfLetter,
  replayMark,
} from '../../src/records/dead-letter.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'

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

  test('that is too large says so of a record without a value, too', () => {
    const { shorter } = letterOf(recordOf({ value: null, headers: { foreign: 'x'.repeat(2_000) } }))
    expect(shorter!().headers!['busgate.error.message']).toContain('its value of 0 bytes')
  })

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

const deleted = 'RECORDS_DELETED'
const skipped = 'RECORDS_SKIPPED'

describe('the dead letter of what a log lost says what it was, and whether it was perhaps sent', () => {
  test.each<[LostRange['kind'], RecordsOf, string, RegExp, boolean]>([
    ['unsent', 'commands', deleted, /before they were sent/, false],
    ['unread', 'commands', deleted, /before they were read/, false],
    ['perhapsSent', 'commands', deleted, /perhaps sent: nobody can tell/, true],
    ['unchecked', 'commands', deleted, /before it was known whether their commands.* had been answered/, true],
    ['skipped', 'commands', skipped, /somebody else than busgate set the committed offset/, true],
    ['unread', 'doubts', deleted, /lost these doubts: their commands were perhaps sent/, true],
    ['unchecked', 'doubts', deleted, /these doubts before it was known which of them were resolved/, true],
    ['skipped', 'doubts', skipped, /somebody else than busgate/, true],
    ['perhapsSent', 'messages', deleted, /their final status comes only by a callback/, false],
    ['unchecked', 'messages', deleted, /their final status comes only by a callback/, false],
    ['skipped', 'messages', skipped, /somebody else than busgate/, false],
  ])('%s %s', async (kind, what, code, message, perhapsSent) => {
    const ranges = [4, 9].map(first => ({ kind, first, last: first + 2 }))
    const { promise: committed, resolve: commit } = Promise.withResolvers<boolean>()
    const told: Events['deadLetter.published'][] = []
    const telemetry = new Telemetry()
    telemetry.on('deadLetter.published', one => void told.push(one))
    const session = { ...from, alive: true, committed: () => committed } as unknown as Session
    const letters = lostLetters('busgate.dead-letters', session, ranges, what, telemetry)
    expect(letters.map(({ topic, key, value }) => [topic, String(key), value])).toEqual([
      ['busgate.dead-letters', 'busgate.commands/3@4', null],
      ['busgate.dead-letters', 'busgate.commands/3@9', null],
    ])
    expect(letters.map(({ headers }) => headers)).toEqual(
      ranges.map(({ first, last }) => ({
        ...origin,
        'busgate.error.code': code,
        'busgate.error.message': expect.stringMatching(message),
        'busgate.error.offset': String(first),
        'busgate.error.last-offset': String(last),
        'busgate.error.timestamp': '-1',
        'busgate.error.key': 'none',
        ...(perhapsSent && { 'busgate.error.perhaps-sent': 'true' }),
      })),
    )
    await Promise.resolve()
    expect(told).toEqual([]) // nothing is counted before the commit
    commit(true)
    await expect.poll(() => told).toEqual([{ stage: 'decode', code, count: 2, first: { ...from, offset: 4 } }])
  })
})
