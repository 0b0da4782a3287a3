import { expect, test, vi } from 'vitest'
import { cachedUptime, sleep, systemClock } from '../src/clock.ts'

test('a timer for a past time fires at once, without a warning of Node', async () => {
  const warned = vi.spyOn(process, 'emitWarning')
  await sleep(systemClock, -12)
  expect(warned).not.toHaveBeenCalled()
})

test('the uptime is at most 10 ms old, and right after a suspend, which stops the monotonic clock', () => {
  const times = { uptime: 0, now: 0, monotonic: 0 }
  let reads = 0
  const read = () => {
    reads++
    return times.uptime
  }
  const uptime = cachedUptime(
    read,
    () => times.now,
    () => times.monotonic,
  )
  const pass = (ms: number) => {
    for (const name of ['uptime', 'now', 'monotonic'] as const) times[name] += ms
  }
  for (let i = 0; i < 1000; i++) {
    expect(times.uptime - uptime()).toBeLessThan(10)
    pass(1)
  }
  expect(reads).toBeLessThanOrEqual(101)
  times.uptime += 60_000
  times.now += 60_000
  expect(uptime()).toBe(times.uptime)
})
