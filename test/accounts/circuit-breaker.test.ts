import { describe, expect, test } from 'vitest'
import { CircuitBreaker } from '../../src/accounts/circuit-breaker.ts'

/** A breaker without jitter: its pauses have their full length. */
const fullBreaker = () => new CircuitBreaker(() => 1)

/** A breaker that has just paused, and the time at which the pause ends. */
function pausedBreaker() {
  const breaker = fullBreaker()
  const until = breaker.pause('unreachable', false, 0)!
  return { breaker, until }
}

test('a breaker whose probe was withheld by busgate itself stays paused, and permits the next probe at once', () => {
  const { breaker, until } = pausedBreaker()
  breaker.returnPermit(breaker.permit())
  expect([breaker.state, breaker.admission(until)]).toEqual(['paused', { wait: 0, operations: 1 }])
  expect(breaker.permit()).toBe(true)
})

test('a breaker ignores the outcome of envelopes sent before the pause', () => {
  const { breaker, until } = pausedBreaker()
  expect(breaker.passed(false)).toBe(false)
  expect(breaker.pause('denied', false, 100)).toBe(null)
  breaker.returnPermit(false)
  expect([breaker.reason, breaker.admission(0).wait]).toEqual(['unreachable', until])
  breaker.permit()
  expect(breaker.pause('denied', false, until)).toBe(null)
  expect([breaker.passed(false), breaker.failed('undecided', false, until), breaker.state]).toEqual([
    false,
    null,
    'probing',
  ])
})

test('envelopes with an unknown outcome are counted from zero after every answer', () => {
  const breaker = fullBreaker()
  for (let i = 0; i < 5; i++) {
    expect([breaker.failed('undecided', false, 0), breaker.failed('undecided', false, 0)]).toEqual([null, null])
    breaker.passed(false)
  }
  expect(breaker.state).toBe('closed')
})

test('an unknown outcome of the probe prolongs the pause', () => {
  const { breaker, until } = pausedBreaker()
  expect(breaker.failed('undecided', breaker.permit(), until)).toBe(1_000)
  expect(breaker.reason).toBe('undecided')
})

describe('pauses', () => {
  test('double with each failed probe, up to 30 s, and start over once a probe passes', () => {
    const breaker = fullBreaker()
    let now = 0
    const pauses = [breaker.pause('unreachable', false, now)!]
    for (let i = 0; i < 8; i++) {
      now += pauses.at(-1)!
      expect(breaker.admission(now).wait).toBe(0)
      pauses.push(breaker.pause('unreachable', breaker.permit(), now)!)
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
    breaker.passed(breaker.permit())
    expect(breaker.pause('unreachable', false, now)).toBe(500)
  })

  test('get a random jitter that shortens them by at most half', () => {
    const pauses = [0, 0.5, 1].map(chance => new CircuitBreaker(() => chance).pause('unreachable', false, 0))
    expect(pauses).toEqual([250, 375, 500])
  })

  test('are never zero, whatever Retry-After says', () => {
    expect(fullBreaker().pause('throttled', false, 0, 0)).toBe(500)
  })
})
