import { describe, expect, test } from 'vitest'
import { AccountGate } from '../../src/accounts/gate.ts'
import type { PauseReason } from '../../src/telemetry/labels.ts'

/** A gate whose pauses are not shortened by chance. */
const fullGate = () => new AccountGate(() => 1)

/** A gate that has just begun to pause, and the instant at which the pause is over. */
function pausedGate(reason: PauseReason = 'unreachable') {
  const gate = fullGate()
  const until = gate.pause(reason, false, 0)!
  return { gate, until }
}

const open = { wait: 0, operations: Number.POSITIVE_INFINITY }
const closed = { wait: Number.POSITIVE_INFINITY, operations: 0 }

describe('a gate', () => {
  test('is open at first, and while answers come', () => {
    const gate = fullGate()
    expect(gate.permit()).toBe(false)
    expect(gate.passed(false)).toBe(false)
    expect([gate.admission(0), gate.state, gate.reason]).toEqual([open, 'closed', null])
  })

  test.each(['denied', 'unreachable', 'undecided'] as const)(
    'lets one operation probe after a pause for being %s',
    reason => {
      const { gate, until } = pausedGate(reason)
      expect([gate.state, gate.reason]).toEqual(['paused', reason])
      expect(gate.admission(1)).toEqual({ wait: until - 1, operations: 1 })
      expect(gate.admission(until)).toEqual({ wait: 0, operations: 1 })
      expect(gate.permit()).toBe(true)
      expect([gate.state, gate.admission(until)]).toEqual(['probing', closed])
      expect(gate.passed(true)).toBe(true)
      expect([gate.admission(until), gate.reason]).toEqual([open, null])
    },
  )

  test('lets one envelope pass after throttling, then as much as before', () => {
    const { gate, until } = pausedGate('throttled')
    expect(gate.admission(until)).toEqual(open)
    expect(gate.permit()).toBe(true)
    expect(gate.admission(until)).toEqual(closed)
    gate.passed(true)
    expect(gate.admission(until)).toEqual(open)
  })

  test('stays closed if busgate itself withheld the probe, and lets the next probe go at once', () => {
    const { gate, until } = pausedGate()
    gate.permit()
    gate.withdraw(true)
    expect([gate.state, gate.admission(until)]).toEqual(['paused', { wait: 0, operations: 1 }])
    expect(gate.permit()).toBe(true)
  })

  test('ignores the outcome of envelopes sent before the pause', () => {
    const { gate, until } = pausedGate('denied')
    expect(gate.passed(false)).toBe(false)
    expect(gate.pause('unreachable', false, 100)).toBe(null)
    gate.withdraw(false)
    expect([gate.reason, gate.admission(0).wait]).toEqual(['denied', until])
    gate.permit()
    expect(gate.pause('unreachable', false, until)).toBe(null)
    expect([gate.passed(false), gate.failed('undecided', false, until), gate.state]).toEqual([false, null, 'probing'])
  })
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

  test('are shortened at random, by at most half', () => {
    const pauses = [0, 0.5, 1].map(chance => new AccountGate(() => chance).pause('unreachable', false, 0))
    expect(pauses).toEqual([250, 375, 500])
  })

  test('last as long as Retry-After says', () => {
    const gate = fullGate()
    expect(gate.pause('throttled', false, 0, 7_000)).toBe(7_000)
    expect(gate.admission(0).wait).toBe(7_000)
  })

  test('are never zero, whatever Retry-After says', () => {
    expect(fullGate().pause('throttled', false, 0, 0)).toBe(500)
  })
})

describe('envelopes with an unknown outcome', () => {
  test('pause the account after three in a row', () => {
    const gate = fullGate()
    expect([
      gate.failed('undecided', false, 0),
      gate.failed('undecided', false, 0),
      gate.failed('undecided', false, 0),
    ]).toEqual([null, null, 500])
    expect(gate.reason).toBe('undecided')
  })

  test('are counted from zero after every answer', () => {
    const gate = fullGate()
    for (let i = 0; i < 5; i++) {
      expect([gate.failed('undecided', false, 0), gate.failed('undecided', false, 0)]).toEqual([null, null])
      gate.passed(false)
    }
    expect(gate.state).toBe('closed')
  })

  test('prolong the pause if one of them is the probe', () => {
    const { gate, until } = pausedGate('unreachable')
    expect(gate.failed('undecided', gate.permit(), until)).toBe(1_000)
    expect(gate.reason).toBe('undecided')
  })
})
