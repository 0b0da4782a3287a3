import { expect, test } from 'vitest'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume } from '../support/control.ts'
import { numbersFrom, sorted, startSendingWorld } from '../support/sending.ts'

/** The tests begin at noon UTC, two o'clock in Kyiv. */
const afternoon = '14:05-14:30 Europe/Kyiv'
const minute = 60_000

test('in quiet hours only the most urgent topic is sent; the others are sent when they end', async () => {
  const { put, pass, posts, gauge } = await startSendingWorld({ gateway: { quietHours: afternoon } })
  put('bulk', commandsFrom(1, 10))
  await pass(1_000)
  expect(posts.flatMap(({ ids }) => ids)).toHaveLength(10)
  expect(gauge('pauses', 'quiet_hours')).toBe(0)
  await pass(5 * minute, 500)
  expect(gauge('pauses', 'quiet_hours')).toBe(2) // of the accounts default and other
  put('bulk', commandsFrom(11, 10))
  put('urgent', commandsFrom(101, 5))
  await pass(20 * minute, 1_000)
  expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual([...numbersFrom(1, 10), ...numbersFrom(101, 5)])
  await pass(6 * minute, 1_000)
  expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual([...numbersFrom(1, 20), ...numbersFrom(101, 5)])
})

test('no request begins in quiet hours: prepared envelopes are taken back', async () => {
  const { clock, put, pass, posts } = await startSendingWorld({
    gateway: { quietHours: afternoon, concurrency: 2, maxOperations: 10 },
    takes: () => 7_000,
  })
  const begin = clock.monotonic() + Date.UTC(2026, 2, 14, 12, 5) - clock.now()
  await pass(4 * minute, 1_000)
  put('bulk', commandsFrom(1, 200))
  await pass(10 * minute, 250)
  const last = Math.max(...posts.map(({ at }) => at))
  expect(posts.length).toBeGreaterThan(2)
  expect(last).toBeLessThan(begin)
})

test('quiet hours follow the wall clock, even if it was just set', async () => {
  const { clock, put, pass, posts } = await startSendingWorld({ gateway: { quietHours: afternoon } })
  clock.step(6 * minute)
  put('bulk', commandsFrom(1, 10))
  await pass(2_000)
  expect(posts).toEqual([])
  clock.step(-6 * minute)
  await pass(2 * minute)
  expect(posts.flatMap(({ ids }) => ids)).toHaveLength(10)
})

test('commands expire at their deadline in quiet hours, too', async () => {
  const { clock, put, pass, results } = await startSendingWorld({ gateway: { quietHours: '00:00-23:59 UTC' } })
  put('bulk', commandsFrom(1, 5, { deadline: clock.now() + 5_000 }))
  await pass(12_000)
  expect(results().map(({ errorCode }) => errorCode)).toEqual(Array(5).fill('DEADLINE'))
})

test("an account's own quiet hours replace those of the gateway", async () => {
  const { put, pass, sent } = await startSendingWorld({
    gateway: { quietHours: '14:00-15:00 Europe/Kyiv' },
    own: { other: { quietHours: '03:00-04:00 America/New_York' } },
  })
  put('bulk', [...commandsFrom(1, 5), ...commandsFrom(11, 5, { account: 'other' })])
  await pass(2_000)
  expect([sent('default'), sent('other')]).toEqual([[], numbersFrom(11, 5)])
})

test('commands that are resumed in quiet hours are sent when these are over', async () => {
  const { put, pass, control, posts } = await startSendingWorld({ gateway: { quietHours: '14:00-14:10 Europe/Kyiv' } })
  control(buildPause())
  put('bulk', commandsFrom(1, 5))
  await pass(1_000)
  control(buildResume())
  await pass(9 * minute, 500)
  expect(posts).toEqual([])
  await pass(2 * minute, 500)
  expect(posts.flatMap(({ ids }) => ids)).toEqual(numbersFrom(1, 5))
})
