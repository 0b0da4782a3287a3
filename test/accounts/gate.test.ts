import { describe, expect, test } from 'vitest'
import { AccountGate } from '../../src/accounts/gate.ts'

/** A gate without jitter: its pauses have their full length. */
const fullGate = () => new AccountGate(() => 1)

/** A gate that has just paused, and the time at which the pause ends. */
function pausedGate() {
  const gate = fullGate()
  const until = gate.pause('unreachable', false, 0)!
  return { gate, until }
}

test('a gate whose probe was withheld by busgate itself stays paused, and permits the next probe at once', () => {
  const { gate, until } = pausedGate()
  gate.returnPermit(gate.permit())
  expect([gate.state, gate.admission(until)]).toEqual(['paused', { wait: 0, operations: 1 }])
  expect(gate.permit()).toBe(true)
})

test('a gate ignores the outcome of envelopes sent before the pause', () => {
  const { gate, until } = pausedGate()
  expect(gate.passed(false)).toBe(false)
  expect(gate.pause('denied', false, 100)).toBe(null)
  gate.returnPermit(false)
  expect([gate.reason, gate.admission(0).wait]).toEqual(['unreachable', until])
  gate.permit()
  expect(gate.pause('denied', false, until)).toBe(null)
  expect([gate.passed(false), gate.failed('undecided', false, until), gate.state]).toEqual([false, null, 'probing'])
})

test('envelopes with an unknown outcome are counted from zero after every answer', () => {
  const gate = fullGate()
  for (let i = 0; i < 5; i++) {
    expect([gate.failed('undecided', false, 0), gate.failed('undecided', false, 0)]).toEqual([null, null])
    gate.passed(false)
  }
  expect(gate.state).toBe('closed')
})

test('an unknown outcome of the probe prolongs the pause', () => {
  const { gate, until } = pausedGate()
  expect(gate.failed('undecided', gate.permit(), until)).toBe(1_000)
  expect(gate.reason).toBe('undecided')
})

describe('pauses', () => {
  test('double with each failed probe, up to 30 s, and start over once a probe passes', () => {
    const gate = fullGate()
    let now = 0
    const pauses = [gate.pause('unreachable', false, now)!]
    for (let i = 0; i < 8; i++) {
      now += pauses.at(-1)!
      expect(gate.admission(now).wait).toBe(0)
      pauses.push(gate.pause('unreachable', gate.permit(), now)!)
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
    gate.passed(gate.permit())
    expect(gate.pause('unreachable', false, now)).toBe(500)
  })

  test('get a random jitter that shortens them by at most half', () => {
    const pauses = [0, 0.5, 1].map(chance => new AccountGate(() => chance).pause('unreachable', false, 0))
    expect(pauses).toEqual([250, 375, 500])
  })

  test('are never zero, whatever Retry-After says', () => {
    expect(fullGate().pause('throttled', false, 0, 0)).toBe(500)
  })
})
