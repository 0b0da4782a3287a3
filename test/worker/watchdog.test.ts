import { expect, onTestFinished, test } from 'vitest'
import type { SessionState } from '../../src/bus/port.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { watchProgress } from '../../src/worker/health.ts'
import { ManualClock } from '../support/clock.ts'

const minute = 60_000
const tp = { topic: 'commands', partition: 0 }
const idle: SessionState = { ...tp, open: true, lag: 0, windowUsed: 0, committing: false }
const working: SessionState = { ...idle, lag: 7, windowUsed: 0.1 }

/** Watches a worker whose state the test changes. */
function watch(...sessions: SessionState[]) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const errors: string[] = []
  const worker = { sessions, heldBack: false }
  const stop = watchProgress({
    sessions: () => worker.sessions,
    heldBack: () => worker.heldBack,
    doubtsTopic: 'doubts',
    timeoutMs: 30_000,
    clock,
    telemetry,
    stuck: error => errors.push(error.message),
  })
  onTestFinished(stop)
  const commit = () => telemetry.emit('cycle.committed', { topic: 'commands', partition: 0, records: 1, windowUsed: 0 })
  return { clock, errors, worker, commit }
}

test('a partition that sends and commits nothing for five minutes ends the worker, and is named', async () => {
  const { clock, errors } = watch(working)
  await clock.pass(5 * minute)
  expect(errors).toEqual([])
  await clock.pass(minute)
  expect(errors[0]).toContain('commands/0')
})

test.each([
  ['a doubt that waits', { ...working, topic: 'doubts' }],
  ['a partition that is not open', { ...working, open: false, committing: true }],
])('%s does not end the worker, however long it lasts', async (_, session) => {
  const { clock, errors } = watch(session)
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
})

test('successive commits count as progress', async () => {
  const { clock, errors, commit } = watch({ ...working, committing: true })
  for (let i = 0; i < 60; i++) {
    commit()
    await clock.pass(minute)
  }
  expect(errors).toEqual([])
})

test('a commit that never ends ends the worker, even if an account or the registry holds commands back', async () => {
  const { clock, errors, worker } = watch({ ...working, committing: true })
  worker.heldBack = true
  await clock.pass(6 * minute)
  expect(errors).not.toEqual([])
})

test('a partition that was revoked does not end the worker', async () => {
  const { clock, errors, worker } = watch(working)
  await clock.pass(4 * minute)
  worker.sessions = []
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
})
