import { describe, expect, test } from 'vitest'
import { commandsFrom } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

// A worker that joins leaves the first second of its share to whoever had it before.
describe("an account's rate, as the gateway sees it", () => {
  test('is never exceeded within any second, and used up while there is a backlog', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 100, maxOperations: 10 } }, partitions: 4 })
    const metrics = async () => (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text()
    await world.send(commandsFrom(1, 250))
    await world.finished(100)
    expect(await metrics()).toContain('busgate_rate_headroom_ratio{account="default"} 0')
    await world.finished(250)
    expect(world.sandbox.stats()).toMatchObject({ executed: 250, billedTwice: 0 })
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeLessThanOrEqual(100)
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeGreaterThan(50)
    expect(await metrics()).toMatch(/busgate_rate_wait_seconds_count [1-9]/)
  })

  test('is kept for each account by itself, and what is refused counts', async () => {
    const world = await startWorld({
      settings: { gateway: { rate: 20, accounts: { shop: { apiKey: 'shop-key', rate: 40 } } } },
      sandbox: { keys: { default: 'sandbox-key', shop: 'shop-key' } },
    })
    const refused = commandsFrom(101, 60).map(command => ({ ...command, account: 'shop', phone: 380501234592 }))
    await world.send([...commandsFrom(1, 30), ...refused])
    await world.finished(90)
    expect(world.sandbox.stats().accounts).toMatchObject({
      default: { executed: 30, maxOperationsInAnySecond: 20 },
      shop: { executed: 0, maxOperationsInAnySecond: 40 },
    })
  })
})
