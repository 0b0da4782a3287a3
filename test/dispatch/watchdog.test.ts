import { expect, onTestFinished, test } from 'vitest'
import type { SessionState } from '../../src/bus/port.ts'
import { watchProgress } from '../../src/dispatch/watchdog.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

const minute = 60_000
const tp = { topic: 'commands', partition: 0 }
const working: SessionState = { ...tp, open: true, lag: 7, windowUsed: 0.1 }

/** A watch over one partition whose state the test changes. */
function watch(state: SessionState, heldBack = () => false) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const errors: Error[] = []
  const owned = { state: state as SessionState | null }
  const stop = watchProgress({
    sessions: () => (owned.state ? [owned.state] : []),
    heldBack,
    timeoutMs: 30_000,
    clock,
    telemetry,
    stuck: error => errors.push(error),
  })
  onTestFinished(stop)
  const commit = () => telemetry.emit('cycle.committed', { ...tp, records: 1, windowUsed: 0 })
  return { clock, errors, owned, commit }
}

test('a partition with work and no commit for five minutes ends the worker, and is named', async () => {
  const { clock, errors } = watch(working)
  await clock.pass(5 * minute)
  expect(errors).toEqual([])
  await clock.pass(minute)
  expect(errors[0]?.message).toContain('commands/0')
})

test('a partition that never opens ends the worker too', async () => {
  const { clock, errors } = watch({ ...working, open: false, lag: 0 })
  await clock.pass(6 * minute)
  expect(errors).not.toEqual([])
})

test('commits are progress', async () => {
  const { clock, errors, commit } = watch(working)
  for (let i = 0; i < 10; i++) {
    await clock.pass(4 * minute)
    commit()
  }
  expect(errors).toEqual([])
})

test('having nothing to do is no reason to end', async () => {
  const { clock, errors } = watch({ ...working, lag: 0 })
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
})

test('a pause of the account, a rate or a registry that is away explain a standstill, as long as they last', async () => {
  let held = true
  const { clock, errors } = watch(working, () => held)
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
  held = false
  await clock.pass(6 * minute)
  expect(errors).not.toEqual([])
})

test('a partition that was given away is forgotten', async () => {
  const { clock, errors, owned } = watch(working)
  await clock.pass(4 * minute)
  owned.state = null
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
})
