import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BusRecord, OutgoingRecord, RecordHeaders } from '../../src/bus/port.ts'
import {
  copiedFrom,
  copyOf,
  type LaterFacts,
  type LaterKey,
  laterHeaderOf,
  originalOf,
  readLater,
  releasedRecord,
  tombstone,
  waitingRecord,
} from '../../src/records/later.ts'

const table = { topic: 'later', partition: 3 }
const key: LaterKey = { topic: 'commands', partition: 2, offset: 17, id: 7n }
const keyName = 'commands/2@17#7'
const facts: LaterFacts = {
  account: 'shop',
  type: 'sms',
  correlationId: 'order 7',
  tenant: 'anna',
  campaign: 'spring',
  country: 'UA',
  notBefore: 1_800_000_000_000,
  since: 1_700_000_000_000,
  timestamp: 1_700_000_000_001,
  expiresAt: 1_800_000_086_400,
  copyAt: 90,
}

/** The record as a reader gets it. */
const asRead = ({ key, value, headers = {} }: OutgoingRecord, place = { offset: 5, timestamp: 9 }): BusRecord => ({
  ...place,
  key: key === null ? null : Buffer.from(key),
  value,
  headers,
})

/** A command's record. */
const commandRecord = (headers: RecordHeaders = {}, key: Buffer | null = Buffer.from('k')): BusRecord => ({
  offset: 17,
  timestamp: 9,
  key,
  value: Buffer.from('bytes'),
  headers,
})

/** So large that a topic may refuse it. */
const largeRecord: BusRecord = { ...commandRecord(), key: null, value: Buffer.alloc(1100) }

const waiting = (record = commandRecord(), some = facts) =>
  waitingRecord(table, key, some, { topic: 'commands', partition: 2, record })

describe('the table of commands that wait', () => {
  const time = fc.oneof(fc.constant(-1), fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER))
  const text = fc.string({ unit: 'binary', maxLength: 20 })
  const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })
  const anyFacts: fc.Arbitrary<LaterFacts> = fc.record({
    ...{ account: text, type: text, correlationId: orNull(text), tenant: orNull(text), campaign: orNull(text) },
    ...{ country: orNull(text), notBefore: orNull(time), since: time, timestamp: time, expiresAt: time },
    copyAt: orNull(time),
  })
  const anyKey: fc.Arbitrary<LaterKey> = fc.record({
    topic: fc.stringMatching(/^[a-zA-Z0-9._-]{1,249}$/),
    partition: fc.nat(),
    offset: fc.maxSafeNat().map(offset => offset % 2 ** 48),
    id: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }),
  })

  test('gives back whatever it was told of a command', () => {
    fc.assert(
      fc.property(anyKey, anyFacts, fc.stringMatching(/^[a-z]{1,64}$/), (key, facts, copy) => {
        const origin = { topic: key.topic, partition: key.partition, record: largeRecord }
        const waits = waitingRecord(table, key, facts, origin)
        const released = releasedRecord(table, key, { ...facts, copy })
        expect([waits, waits.shorter!(), released, tombstone(table, key)].map(one => readLater(asRead(one)))).toEqual([
          { key, state: 'waits', facts },
          { key, state: 'omitted', facts },
          { key, state: 'released', facts: { ...facts, copy } },
          { key, state: 'over', facts: null },
        ])
        const copied = copyOf(key, { ...facts, copy }, asRead(waits))
        expect(copiedFrom(asRead(copied))).toEqual({ key, facts: { ...facts, copy }, isOmitted: false })
      }),
      { numRuns: 50 },
    )
  })

  test('keeps the command as its producer wrote it, with its own headers alone', () => {
    const own = { traceparent: 'a', 'busgate.replayed.from': 'b' }
    const forged = { 'busgate.later': 'c', 'busgate.later.of': 'd', 'busgate.later.record-key': 'e' }
    for (const recordKey of [Buffer.from('k'), null]) {
      const record = commandRecord({ ...own, ...forged }, recordKey)
      const kept = asRead(waiting(record))
      const { 'busgate.later': _, 'busgate.later.record-key': heldKey, ...others } = kept.headers
      expect([kept.key?.toString(), kept.value, others, heldKey ?? null]).toEqual([
        keyName,
        record.value,
        own,
        recordKey,
      ])
      const copy = copyOf(key, facts, kept)
      expect([copy.topic, copy.partition, copy.key, copy.value]).toEqual(['commands', 2, recordKey, record.value])
      const original = originalOf(key, facts, asRead(copy, { offset: 80, timestamp: 99 }))
      expect({ ...original, key: original.key, value: original.value }).toEqual({
        ...{ offset: 17, timestamp: facts.timestamp, key: recordKey, value: record.value, headers: own },
      })
    }
  })

  test('keeps of a command that is too large for it what tells of it, without long texts', () => {
    const [fits, long] = ['x'.repeat(254), 'x'.repeat(255)]
    const { correlationId, tenant, campaign, ...others } = facts
    const record = waiting(commandRecord({ traceparent: 'a' }), {
      ...others,
      correlationId: fits,
      tenant: long,
      campaign: 'x'.repeat(1_000),
    })
    const short = { ...others, correlationId: fits, tenant: null, campaign: null }
    const omitted = asRead(record.shorter!())
    expect([omitted.value?.length, Object.keys(omitted.headers)]).toEqual([0, ['busgate.later']])
    expect(readLater(omitted)).toEqual({ key, state: 'omitted', facts: short })
    const many = { ...facts, copy: 'c', campaign: 'x'.repeat(2000) }
    const kept = { ...facts, copy: 'c', campaign: null }
    expect(readLater(asRead(releasedRecord(table, key, many).shorter!()))).toEqual({
      key,
      state: 'released',
      facts: kept,
    })
    const copy = copyOf(key, many, asRead(waiting())).shorter!()
    expect([copy.key, copy.value?.length, copiedFrom(asRead(copy))]).toEqual([
      null,
      0,
      { key, facts: kept, isOmitted: true },
    ])
  })

  test.each<[string, unknown]>([
    ['state', 'over'],
    ['state', null],
    ...['account', 'type'].flatMap(field => [1, null].map(value => [field, value] as [string, unknown])),
    ...['correlationId', 'tenant', 'campaign', 'country'].flatMap(field =>
      [1, {}, []].map(value => [field, value] as [string, unknown]),
    ),
    ...['since', 'timestamp', 'expiresAt'].flatMap(field =>
      [null, '1', -2, 0.5, 2 ** 53].map(value => [field, value] as [string, unknown]),
    ),
    ...['notBefore', 'copyAt'].flatMap(field =>
      ['1', -2, 0.5, 2 ** 53, {}].map(value => [field, value] as [string, unknown]),
    ),
    ['copy', 1],
    ['copy', null],
    ['copy', 'x'.repeat(65)],
  ])('passes over a record of others: %s is %j', (field, value) => {
    const { state, ...rest } = { state: 'waits', ...facts, [field]: value }
    const text = laterHeaderOf(state as 'waits', rest as LaterFacts)
    const of = (header: RecordHeaders[string]) => asRead({ ...waiting(), headers: { 'busgate.later': header } })
    expect(readLater(of(text))).toBeNull()
    expect(readLater(of(laterHeaderOf('waits', facts)))).toEqual({ key, state: 'waits', facts })
  })

  test.each<[string, RecordHeaders[string]]>([
    ['none', undefined],
    ['several', ['{}', '{}']],
    ['no JSON', '{'],
    ['an object', '{}'],
    ['an empty list', '[]'],
    ['a list that is too short', JSON.stringify(JSON.parse(laterHeaderOf('waits', facts)).slice(0, -1))],
    ['null', 'null'],
    ['one that is too long', laterHeaderOf('waits', { ...facts, tenant: 'x'.repeat(1 << 16) })],
  ])('passes over a record of others whose header is %s', (_, header) => {
    expect(readLater(asRead({ ...waiting(), headers: { 'busgate.later': header } }))).toBeNull()
  })

  test.each<[string | null]>([
    [null],
    [''],
    ['commands/2@17'],
    ['commands/2@17#0'],
    ['commands/2@17#9223372036854775808'],
    ['commands/2@9007199254740992#7'],
    ['commands/12345678901@17#7'],
    ['com mands/2@17#7'],
    [`${'x'.repeat(250)}/2@17#7`],
    [' commands/2@17#7'],
    ['commands/2@17#7 '],
  ])('passes over a record of others whose key is %j', name => {
    const others = name === null ? null : Buffer.from(name)
    for (const value of [null, Buffer.alloc(0)])
      expect(readLater(asRead({ ...waiting(), key: others, value }))).toBeNull()
    const copy = copyOf(key, facts, asRead(waiting()))
    const headers = { ...copy.headers, 'busgate.later.of': name ?? undefined }
    expect(copiedFrom(asRead({ ...copy, headers }))).toBeNull()
  })

  test('passes over a batch that cannot be read, and a copy that says so twice', () => {
    const unreadable = { code: 'BATCH_CORRUPT', message: 'damaged', lastOffset: 5 } as const
    expect(readLater(Object.assign(asRead(waiting()), { unreadable }))).toBeNull()
    const copy = copyOf(key, facts, asRead(waiting()))
    const headers = { ...copy.headers, 'busgate.later.of': [keyName, keyName] }
    expect(copiedFrom(asRead({ ...copy, headers }))).toBeNull()
  })
})
