import { expect, test } from 'vitest'
import { readGauges } from '../../src/worker/health.ts'
import { ManualClock } from '../support/clock.ts'

const clock = new ManualClock()
const second = 1000

interface Given {
  /** Append times of the oldest waiting commands, by who holds them. */
  oldest?: (number | null)[]
  account?: object
}

/** The values of a worker's gauges by name, with the labels in between. */
function gaugesOf({ oldest = [], account = {} }: Given) {
  const sessions = [{ topic: 'bulk', partition: 3, lag: 7, windowUsed: 0.25 }]
  const gauges = readGauges(
    { sessions: () => sessions } as never,
    { intents: 5, inFlight: 2 } as never,
    { open: 4 } as never,
    oldest.map(at => ({ oldestTimestamp: () => at })),
    new Map([['shop', { name: 'shop', breaker: { state: 'closed' }, learntRate: Infinity, ...account } as never]]),
    {
      controls: { used: 0.5, count: (_: string, kind: string) => (kind === 'tenant' ? 1 : 0) },
      behindMs: 12_500,
    } as never,
    ['bulk'],
    clock,
  )
  return new Map([...gauges].map(({ name, labels, value }) => [[name, ...Object.values(labels)].join(' '), value]))
}

test('gauges have the units of their names', () => {
  const account = { keyRefused: true, limiter: { headroom: () => 0.75 }, learntRate: 30, breaker: { state: 'paused' } }
  expect(Object.fromEntries(gaugesOf({ oldest: [clock.now() - 90 * second], account }))).toMatchObject({
    'consumer_lag_records bulk 3': 7,
    'window_used_ratio bulk 3': 0.25,
    'oldest_unsent_command_age_seconds bulk': 90,
    'account_key_refused shop': 1,
    'breaker_state shop': 2,
    'rate_headroom_ratio shop': 0.75,
    'rate_learnt_per_second shop': 30,
    'pauses tenant': 1,
    'pauses topic': 0,
    'withdrawals tenant': 1,
    control_behind_seconds: 12.5,
    control_used_ratio: 0.5,
    doubts_open: 4,
    intents_open: 5,
    requests_in_flight: 2,
  })
})

test.each([
  ['of none', [null, null], 0],
  ['of the oldest, whoever holds it', [clock.now() - second, null, clock.now() - 5 * second], 5],
  ['whose clock is ahead', [clock.now() + second], 0],
])('the age of unsent commands: %s', (_, oldest, age) => {
  expect(gaugesOf({ oldest }).get('oldest_unsent_command_age_seconds bulk')).toBe(age)
})

test('an account without a rate has all of it, and without throttling has learnt none', () => {
  const gauges = gaugesOf({})
  expect(
    ['account_key_refused', 'breaker_state', 'rate_headroom_ratio', 'rate_learnt_per_second'].map(name =>
      gauges.get(`${name} shop`),
    ),
  ).toEqual([0, 0, 1, 0])
})
