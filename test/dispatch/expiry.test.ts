import { expect, test } from 'vitest'
import { loadSettings } from '../../src/config/index.ts'
import { Controls } from '../../src/control/controls.ts'
import { concludeExpired } from '../../src/dispatch/outbox.ts'
import { expiry } from '../../src/dispatch/pending.ts'
import { ManualClock } from '../support/clock.ts'
import { buildPending } from '../support/pendings.ts'

const settings = loadSettings({ env: {} })
const rules = { maxAgeMs: 1_000, controls: new Controls(settings, new ManualClock()) }

test.each([
  ['before its deadline', { deadline: 500 }, 499, null],
  ['at its deadline', { deadline: 500 }, 500, null],
  ['after its deadline', { deadline: 500 }, 501, 'DEADLINE'],
  ['at its greatest age', { timestamp: 100 }, 1_100, null],
  ['beyond its greatest age', { timestamp: 100 }, 1_101, 'MAX_AGE'],
  ['beyond its greatest age, with a deadline to come', { timestamp: 100, deadline: 9_000 }, 1_101, 'MAX_AGE'],
  ['after both', { timestamp: 100, deadline: 500 }, 2_000, 'DEADLINE'],
  ['appended by a clock that is ahead', { timestamp: 9_000 }, 0, null],
])('a command %s', (_, options, now, code) => {
  expect(expiry(buildPending(options), now, rules)?.errorCode ?? null).toBe(code)
})

test('a command that expired was not sent, unless that was in doubt before', () => {
  const attempts = 2
  expect(concludeExpired(buildPending({ attempts }), { errorCode: 'DEADLINE' })).toEqual({
    outcome: 'EXPIRED',
    attempts,
    errorCode: 'DEADLINE',
  })
  expect(concludeExpired(buildPending({ attempts, doubted: true }), { errorCode: 'MAX_AGE' })).toEqual({
    outcome: 'UNRESOLVED',
    attempts,
    errorCode: 'MAX_AGE',
  })
})
