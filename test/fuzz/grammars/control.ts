import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { BusRecord } from '../../../src/bus/port.ts'
import {
  type Change,
  changesIn,
  endOf,
  keyOf,
  longestNameBytes,
  longestText,
  writeChange,
} from '../../../src/control/change.ts'
import { LastChanges } from '../../../src/control/last-changes.ts'
import { pausableKinds, withdrawalKinds } from '../../../src/vocabulary/control.ts'
import { grammarOf } from '../grammar.ts'
import { bounded } from '../measure.ts'

const latest = Date.UTC(9999, 11, 31)
const instant = fc.integer({ min: 0, max: latest })
/** Texts around the bound, of every kind of character. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('__proto__', 'toString', '\ud800', 'a\u0000b', 'é'.repeat(longestNameBytes)),
  fc.integer({ min: longestText - 2, max: 100_000 }).map(length => 'A'.repeat(length)),
)
const scope = fc.oneof(
  fc.record({ effect: fc.constant('paused' as const), kind: fc.constantFrom(...pausableKinds) }),
  fc.record({ effect: fc.constant('withdrawn' as const), kind: fc.constantFrom(...withdrawalKinds) }),
)
const name = fc.oneof(
  fc.constantFrom('spring', 'acme', 'default/42', '__proto__', 'toString'),
  fc.string({ minLength: 1, maxLength: 30 }),
)

/** A change as an honest writer writes it. */
const honestChange = fc
  .record({
    scope,
    name,
    begins: fc.boolean(),
    by: fc.string({ maxLength: longestText }),
    at: instant,
    until: fc.option(instant),
    reason: fc.option(fc.string({ maxLength: longestText })),
  })
  .map(({ scope, ...rest }) => ({ ...scope, ...rest }) as Change)

const prefixes = [...pausableKinds, ...withdrawalKinds.map(kind => `withdrawn/${kind}`), 'withdrawn', '', 'quiet_hours']
const key = fc.oneof(
  fc.tuple(fc.constantFrom(...prefixes), anyText).map(([prefix, name]) => Buffer.from(`${prefix}/${name}`)),
  fc.uint8Array({ maxLength: 3_000 }).map(bytes => Buffer.from(bytes)),
  fc.constant(null),
)
const anyTime = fc.oneof(
  instant.map(ms => new Date(ms).toISOString()),
  fc.constantFrom('', 'yesterday', '+275760-09-13T00:00:00Z', `2026-11-29T00:00:00.${'0'.repeat(100_000)}Z`, 8.64e15),
)
const body = fc.record(
  {
    paused: fc.oneof(fc.boolean(), fc.anything()),
    withdrawn: fc.oneof(fc.boolean(), fc.anything()),
    by: fc.oneof(anyText, fc.anything()),
    at: anyTime,
    until: fc.option(anyTime),
    reason: fc.option(fc.oneof(anyText, fc.jsonValue())),
    more: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
const value = fc.oneof(
  body.map(one => Buffer.from(jsonOf(one))),
  fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
  fc.constantFrom(Buffer.from('['.repeat(200_000)), Buffer.alloc(2_000_000, ' '), Buffer.alloc(0), null),
)

function jsonOf(one: unknown): string {
  try {
    return JSON.stringify(one) ?? ''
  } catch {
    return '' // a bigint or a circle
  }
}

const recordOf = (from: Pick<BusRecord, 'key' | 'value'>, offset: number): BusRecord => ({
  ...{ offset, timestamp: 0, headers: {} },
  ...from,
})

/** What a stranger and an honest writer leave on the control topic, in turns. */
const controlLog = fc.array(
  fc.oneof(
    fc.record({ key, value }).map(foreign => ({ foreign, honest: null })),
    honestChange.map(honest => ({ foreign: null, honest })),
  ),
  { maxLength: 40 },
)

const isEnded = (change: Change) => !change.begins || endOf(change, { maxAgeMs: 0, horizonMs: 0 }) <= Date.UTC(2026, 0)
const places = (changes: Iterable<Change>) => [...changes].map(keyOf).sort()

type ControlLog = typeof controlLog extends fc.Arbitrary<infer T> ? T : never

async function expectLastChanges(log: ControlLog): Promise<void> {
  const last = new LastChanges(1, isEnded)
  const model = new Map<string, Change>()
  for (const [offset, { foreign, honest }] of log.entries()) {
    const written = honest && writeChange('control', honest)
    const record = written ? { key: Buffer.from(written.key!), value: written.value } : foreign!
    const { changes, invalid } = await bounded('a control record', () => changesIn([recordOf(record, offset)]))
    assert.equal(changes.length + (invalid?.count ?? 0), 1)
    if (honest) assert.deepEqual({ ...changes[0] }, { ...honest })
    for (const change of changes) {
      assert.ok(Buffer.byteLength(change.name) <= 3 * longestNameBytes) // a damaged byte becomes U+FFFD
      assert.ok(Math.max(change.by.length, change.reason?.length ?? 0) <= longestText)
      assert.equal(new Date(change.at).getTime(), change.at)
      last.add(change, 0)
      model.set(keyOf(change), change)
    }
  }
  assert.deepEqual(places(last), places([...model.values()].filter(change => !isEnded(change))))
}

export const control = grammarOf(
  'records of the control topic',
  { 'each change is bounded, and the last one of each scope counts': fc.asyncProperty(controlLog, expectLastChanges) },
  20,
)
