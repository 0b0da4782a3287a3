import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { type Change, changesIn, endOf, isDeletion, keyOf, readChange, writeChange } from '../../src/control/change.ts'
import { pausableKinds, withdrawalKinds } from '../../src/vocabulary/control.ts'
import { buildPause, buildWithdrawal } from '../support/control.ts'

const recordOf = (key: string | null, value: string | Buffer | null, more: Partial<BusRecord> = {}): BusRecord => ({
  ...{ offset: 0, timestamp: 7, headers: {} },
  ...{ key: key === null ? null : Buffer.from(key), value: value === null ? null : Buffer.from(value) },
  ...more,
})

function recordOfChange(change: Change, more: Partial<BusRecord> = {}): BusRecord {
  const { key, value } = writeChange('control', change)
  return recordOf(String(key), value, more)
}

const texts = fc.string({ minLength: 1, maxLength: 40 })
const changes: fc.Arbitrary<Change> = fc
  .record({
    scope: fc.oneof(
      fc.record({ effect: fc.constant('paused' as const), kind: fc.constantFrom(...pausableKinds), name: texts }),
      fc.record({ effect: fc.constant('withdrawn' as const), kind: fc.constantFrom(...withdrawalKinds), name: texts }),
    ),
    stamp: fc.record({
      ...{ begins: fc.boolean(), by: fc.string({ maxLength: 40 }), at: fc.nat() },
      ...{ until: fc.option(fc.nat()), reason: fc.option(fc.string({ maxLength: 40 })) },
    }),
  })
  .map(({ scope, stamp }) => ({ ...scope, ...stamp }))

describe('a change on the control topic', () => {
  test('is read as it was written, whatever it pauses or withdraws', () => {
    fc.assert(
      fc.property(changes, change => {
        expect(readChange(recordOfChange(change))).toEqual(change)
      }),
    )
  })

  test('may leave out its end and its reason, and write its time by the clock of its own zone', () => {
    const { key } = recordOfChange(buildPause())
    const value = '{"paused":true,"by":"olena","at":"2026-03-14T14:00:00+02:00"}'
    expect(readChange(recordOf(String(key), value))).toEqual(buildPause({ at: Date.UTC(2026, 2, 14, 12) }))
  })

  test.each([
    ['name', 'é'.repeat(512), 'é'.repeat(512)],
    ['by', 'x'.repeat(500), 'x'.repeat(500)],
    ['by', 'x'.repeat(501), `${'x'.repeat(499)}…`],
    ['reason', 'x'.repeat(500), 'x'.repeat(500)],
    ['reason', 'x'.repeat(501), `${'x'.repeat(499)}…`],
  ] as const)('has the longest %s whole, and a longer one cut', (field, text, read) => {
    const value = { paused: true, by: 'olena', at: '2026-03-14T12:00:00Z', reason: null, [field]: text }
    const key = `tenant/${field === 'name' ? text : 'acme'}`
    expect(readChange(recordOf(key, JSON.stringify(value)))).toMatchObject({ [field]: read })
  })

  test.each([
    [null, 'its key is not one of'],
    ['', 'its key is not one of'],
    ['tenant/', 'its key is not one of'],
    ['tenant', 'its key is not one of'],
    ['message/default/7', 'its key is not one of'],
    ['withdrawn/topic/bulk', 'its key is not one of'],
    ['withdrawn/tenant/', 'its key is not one of'],
    ['nonsense/acme', 'its key is not one of'],
    [`withdrawn/correlation_id/${'x'.repeat(1_024)}`, 'its value is not JSON of {withdrawn, by, at, until, reason}'],
    [`withdrawn/correlation_id/${'x'.repeat(1_025)}`, 'its key has 1050 bytes, more than a name may have'],
    ['tenant/acme', 'its value is not JSON of {paused, by, at, until, reason}'],
  ])('with the key %s is none: %s', (key, message) => {
    expect(changesIn([recordOf(key, '{')]).invalid?.error.message).toContain(message)
  })

  test('whose key is unknown is told with all that can be paused or withdrawn', () => {
    const { invalid } = changesIn([recordOf('x', '{}')])
    const kinds = [...pausableKinds, ...withdrawalKinds.map(kind => `withdrawn/${kind}`)].map(kind => `${kind}/NAME`)
    expect(invalid?.error.message).toBe(`its key is not one of ${kinds.join(', ')}`)
  })

  test.each([
    [1_048_588, 'its value is not JSON'],
    [1_048_589, 'its value has more than 1048588 bytes'],
  ])('with a value of %d bytes is none: %s', (bytes, message) => {
    expect(changesIn([recordOf('tenant/acme', Buffer.alloc(bytes))]).invalid?.error.message).toContain(message)
  })

  test('that cannot be read is skipped and counted, and the first is told', () => {
    const unreadable = { code: 'BATCH_CORRUPT', message: 'its checksum is wrong', lastOffset: 1 } as const
    const pause = buildPause()
    const records = [
      recordOfChange(pause),
      recordOfChange(pause, { offset: 1, unreadable }),
      recordOf('nonsense', '{}', { offset: 2 }),
      recordOfChange(pause, { offset: 3 }),
    ]
    const { changes, invalid } = changesIn(records)
    expect(changes).toEqual([pause, pause])
    expect(invalid).toMatchObject({ offset: 1, count: 2, error: { message: 'its checksum is wrong' } })
    expect(changesIn(records.slice(0, 1)).invalid).toBe(null)
  })

  test('is ended by the deletion of its record, at the time of that', () => {
    const { key } = recordOfChange(buildWithdrawal())
    const deletion = readChange(recordOf(String(key), null))
    expect(deletion).toMatchObject({
      effect: 'withdrawn',
      name: 'spring',
      begins: false,
      at: 7,
      until: null,
      reason: null,
    })
    const { by } = deletion
    const ended = [deletion, buildPause({ begins: false }), buildPause({ by }), buildPause({ by, begins: false })]
    expect(ended.map(isDeletion)).toEqual([true, false, false, true])
  })

  test('ends in a whole second, a withdrawal only once all commands that were appended before its end have expired, at the latest time that they may name', () => {
    const life = { maxAgeMs: 60_000, horizonMs: 100_000 }
    expect(endOf(buildPause({ until: null }), life)).toBe(Number.POSITIVE_INFINITY)
    expect([4_000, 4_001, 5_000].map(until => endOf(buildPause({ until }), life))).toEqual([4_000, 5_000, 5_000])
    expect([4_000, 4_001].map(until => endOf(buildWithdrawal({ until }), life))).toEqual([164_000, 165_000])
  })
})

describe('a change that is written', () => {
  test.each([
    ['name', 'é'.repeat(512), null],
    ['name', `${'é'.repeat(512)}x`, 'a name of 1025 bytes cannot be withdrawn: 1024 at most'],
    ['by', 'x'.repeat(500), null],
    ['by', 'x'.repeat(501), 'may have at most 500 characters each'],
    ['reason', 'x'.repeat(500), null],
    ['reason', 'x'.repeat(501), 'may have at most 500 characters each'],
    ['reason', null, null],
  ] as const)('may have a %s of that length, and no longer one', (field, text, refusal) => {
    const change = buildWithdrawal({ [field]: text })
    if (refusal === null) expect(keyOf(readChange(recordOfChange(change)))).toBe(keyOf(change))
    else
      expect(() => writeChange('control', change)).toThrow(
        expect.objectContaining({ message: expect.stringContaining(refusal) }),
      )
  })
})
