import { expect, test } from 'vitest'
import { Telemetry } from '../../src/telemetry/events.ts'
import { PartitionRates } from '../../src/worker/partition-rates.ts'
import { ManualClock } from '../support/clock.ts'

const second = 1_000
const minute = 60 * second
const tp = { topic: 'bulk', partition: 3 }

/** The rates of a worker that owns one partition from now on. */
function startRates() {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const rates = new PartitionRates(telemetry, clock)
  const opened = { offset: 0, committed: 0, inDoubt: 0, stale: false, took: 0 }
  telemetry.emit('session.opened', { ...tp, ...opened })
  return {
    ...{ clock, telemetry, rates },
    /** Commits these records each second. */
    async commit(records: number, forMs: number, of = tp) {
      for (let passed = 0; passed < forMs; passed += second) {
        await clock.pass(second)
        telemetry.emit('cycle.committed', { ...of, records, windowUsed: 0 })
      }
    },
  }
}

test('the rate of a partition is known from the first second on, and follows a change within some minutes', async () => {
  const { commit, rates } = startRates()
  expect(rates.perSecond(tp)).toBe(0)
  for (const ms of [5 * second, minute, 10 * minute]) {
    await commit(40, ms)
    expect(rates.perSecond(tp)! / 40).toBeCloseTo(1, 1)
  }
  await commit(0, minute)
  expect(rates.perSecond(tp)! / 40).toBeCloseTo(Math.exp(-1), 1)
  await commit(0, 9 * minute)
  expect(rates.perSecond(tp)).toBeCloseTo(0, 1)
})

test('a partition has a rate only while it is owned, and none of another one', async () => {
  const { commit, rates, telemetry, clock } = startRates()
  await commit(40, minute, { topic: 'bulk', partition: 4 })
  expect([rates.perSecond(tp), rates.perSecond({ topic: 'bulk', partition: 4 })]).toEqual([0, null])
  telemetry.emit('session.closed', tp)
  expect(rates.perSecond(tp)).toBeNull()
  rates.stop()
  const opened = { offset: 0, committed: 0, inDoubt: 0, stale: false, took: 0 }
  telemetry.emit('session.opened', { ...tp, ...opened })
  await clock.pass(second)
  expect([
    rates.perSecond(tp),
    telemetry.listenerCount('session.closed'),
    telemetry.listenerCount('cycle.committed'),
  ]).toEqual([null, 0, 0])
})
