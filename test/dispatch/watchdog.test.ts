import { expect, onTestFinished, test } from 'vitest'
import type { SessionState } from '../../src/bus/port.ts'
import { watchProgress } from '../../src/dispatch/health.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

const minute = 60_000
const tp = { topic: 'commands', partition: 0 }
const idle: SessionState = { ...tp, open: true, lag: 0, windowUsed: 0, committing: false }
const working: SessionState = { ...idle, lag: 7, windowUsed: 0.1 }

/** A watch over a worker whose state the test changes. */
function watch(...sessions: SessionState[]) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const errors: string[] = []
  const worker = { sessions, underWay: [] as { what: string }[], heldBack: false, isBusAway: false, isBlocked: false }
  const stop = watchProgress({
    sessions: () => worker.sessions,
    underWay: () => worker.underWay,
    heldBack: () => worker.heldBack,
    isBlocked: () => worker.isBlocked,
    isBusAway: () => worker.isBusAway,
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

test('nothing sent or committed for five minutes, with commands in hand, ends the worker, and is named', async () => {
  const { clock, errors } = watch(working)
  await clock.pass(5 * minute)
  expect(errors).toEqual([])
  await clock.pass(minute)
  expect(errors[0]).toContain('commands/0')
})

test('existing records that do not arrive are a standstill, once no open transaction can hide them', async () => {
  const { clock, errors } = watch({ ...idle, lag: 7 })
  await clock.pass(20 * minute)
  expect(errors).toEqual([])
  await clock.pass(minute)
  expect(errors[0]).toContain('no records of commands/0 arrive')
})

test.each([
  ['an unavailable bus', { ...idle, lag: 7 }, { isBusAway: true }],
  ['a doubt that waits', { ...working, topic: 'doubts' }, {}],
  ['a partition that is not open', { ...working, open: false, committing: true }, {}],
])('%s is no standstill, however long', async (_, session, state) => {
  const { clock, errors, worker } = watch(session)
  Object.assign(worker, state)
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
})

test('successive commits and requests count as progress', async () => {
  const { clock, errors, worker, commit } = watch({ ...working, committing: true })
  for (let i = 0; i < 60; i++) {
    worker.underWay = [{ what: 'an envelope of commands/0' }]
    commit()
    await clock.pass(minute)
  }
  expect(errors).toEqual([])
})

test('an account that may not send, or a registry that is away, does not explain a commit that never ends', async () => {
  const { clock, errors, worker } = watch({ ...working, committing: true })
  worker.heldBack = true
  await clock.pass(6 * minute)
  expect(errors).not.toEqual([])
})

test('a partition that was given away is forgotten', async () => {
  const { clock, errors, worker } = watch(working)
  await clock.pass(4 * minute)
  worker.sessions = []
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
})

test('records behind an open transaction of another program end no worker, however long it stays open', async () => {
  const { clock, errors, worker } = watch({ ...idle, lag: 7 })
  worker.isBlocked = true
  await clock.pass(60 * minute)
  expect(errors).toEqual([])
  worker.isBlocked = false
  await clock.pass(60 * minute)
  expect(errors[0]).toContain('no records of commands/0 arrive')
})
