import { describe, expect, test, vi } from 'vitest'
import { buildCommand } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

const messages = (count: number, from = 1, account = 'default') =>
  Array.from({ length: count }, (_, i) => buildCommand({ id: BigInt(from + i), account }))

/** Seconds since a test's start. */
function stopwatch(): () => number {
  const start = performance.now()
  return () => (performance.now() - start) / 1000
}

describe("an account's rate, as the gateway sees it", () => {
  test('is never exceeded within any second, and used up while there is a backlog', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 100, maxOperations: 10 } }, partitions: 4 })
    const seconds = stopwatch()
    await world.send(messages(350))
    await world.finished(350, 10_000)
    expect(seconds()).toBeLessThan(5)
    expect(world.sandbox.stats()).toMatchObject({ executed: 350, billedTwice: 0 })
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeLessThanOrEqual(100)
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeGreaterThanOrEqual(90)
  })

  test('is shared by two workers, and is all the use of the one that stays', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 60 } }, partitions: 2, workers: 2 })
    await world.send(messages(150))
    await world.finished(60)
    await world.worker.stop()
    const seconds = stopwatch()
    await world.finished(150, 10_000)
    expect(seconds()).toBeLessThan(4) // 90 at 60 a second, a second after the share has grown
    expect(world.sandbox.stats()).toMatchObject({ executed: 150, billedTwice: 0 })
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeLessThanOrEqual(60)
  })

  test('is not exceeded while a second worker joins', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 60 } }, partitions: 2 })
    await world.send(messages(180))
    await world.finished(60)
    await world.startWorker()
    await world.finished(180, 10_000)
    expect(world.sandbox.stats()).toMatchObject({ executed: 180, billedTwice: 0 })
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeLessThanOrEqual(60)
  })

  test('below one operation a second is kept too', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 0.8 } } })
    await world.send(messages(2))
    await world.finished(1)
    const seconds = stopwatch()
    await world.finished(2)
    expect(seconds()).toBeGreaterThan(1.1)
  })

  test('is one for each account, with a rate of its own where it has one', async () => {
    const world = await startWorld({
      settings: { gateway: { rate: 20, accounts: { shop: { apiKey: 'shop-key', rate: 40 } } } },
      sandbox: { keys: { default: 'sandbox-key', shop: 'shop-key' } },
    })
    await world.send([...messages(30), ...messages(60, 101, 'shop')])
    await world.finished(90)
    const { accounts } = world.sandbox.stats()
    expect(accounts.default!.maxOperationsInAnySecond).toBe(20)
    expect(accounts.shop!.maxOperationsInAnySecond).toBe(40)
  })

  test('counts what the gateway refused', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 20 } } })
    await world.send([...messages(20).map(command => ({ ...command, phone: 380501234592 })), ...messages(10, 101)])
    await world.finished(30)
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBe(20)
  })

  test('is not used up by commands that were never sent', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 20 } } })
    const deadline = Date.now() - 1
    await world.send([...messages(40).map(command => ({ ...command, deadline })), ...messages(20, 101)])
    const seconds = stopwatch()
    await world.finished(60)
    expect(seconds()).toBeLessThan(1.5)
  })

  test('shows in the metrics', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 10 } } })
    await world.send(messages(15))
    await world.finished(10)
    const metrics = await (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text()
    expect(metrics).toContain('busgate_rate_headroom_ratio{account="default"} 0')
    await world.finished(15)
    await vi.waitFor(async () => {
      const later = await (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text()
      const count = /busgate_rate_wait_seconds_count (\d+)/.exec(later)?.[1]
      expect(Number(count)).toBeGreaterThan(0)
    })
  })
})
