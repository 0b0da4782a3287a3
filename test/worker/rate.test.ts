import { describe, expect, test } from 'vitest'
import { sleep, systemClock } from '../../src/clock.ts'
import type { LogEntry } from '../../src/sandbox/index.ts'
import { buildCommand } from '../support/commands.ts'
import { startFront } from '../support/front.ts'
import { startWorld } from '../support/worker.ts'

const messages = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => buildCommand({ id: BigInt(from + i) }))

/** The most operations from any request on within a second. */
const mostInOneSecond = (log: readonly LogEntry[]) =>
  Math.max(
    ...log.map(({ at }) =>
      log
        .filter(other => other.at >= at && Date.parse(other.at) < Date.parse(at) + 1000)
        .reduce((sum, { operations }) => sum + operations, 0),
    ),
  )

// A worker that joins leaves the first second of its share to whoever had it before.
describe("an account's rate, as the gateway sees it", () => {
  test('is never exceeded within any second, and used up while there is a backlog', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 100, maxOperations: 10 } }, partitions: 4 })
    const metrics = async () => (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text()
    await world.send(messages(250))
    await world.finished(100)
    expect(await metrics()).toContain('busgate_rate_headroom_ratio{account="default"} 0')
    await world.finished(250)
    expect(world.sandbox.stats()).toMatchObject({ executed: 250, billedTwice: 0 })
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeLessThanOrEqual(100)
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeGreaterThan(50)
    expect(await metrics()).toMatch(/busgate_rate_wait_seconds_count [1-9]/)
  })

  test('is learnt where none is set: the sandbox throttles, and less so as time goes', async () => {
    const world = await startWorld({
      sandbox: { rate: 100 },
      settings: { gateway: { maxOperations: 20 } },
    })
    await world.send(messages(600))
    await world.finished(150)
    const metrics = await (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text()
    expect(metrics).toMatch(/busgate_rate_learnt_per_second\{account="default"\} [1-9]/)
    const before = world.sandbox.stats()
    await world.finished(600)
    const { operations, executed, billedTwice } = world.sandbox.stats()
    expect([executed, billedTwice]).toEqual([600, 0])
    expect(operations - before.operations).toBeLessThan(1.3 * (executed - before.executed))
  })

  test('is shared by two workers, and all of it is for the one that stays', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 60 } }, partitions: 2, workers: 2 })
    await world.send(messages(150))
    await world.finished(60)
    await world.worker.stop()
    const alone = world.sandbox.log().length
    await world.finished(150)
    expect(world.sandbox.stats()).toMatchObject({ executed: 150, billedTwice: 0 })
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeLessThanOrEqual(60)
    expect(mostInOneSecond(world.sandbox.log().slice(alone))).toBeGreaterThan(30)
  })

  test('is not exceeded while a second worker joins', async () => {
    const world = await startWorld({ settings: { gateway: { rate: 60 } }, partitions: 2 })
    await world.send(messages(120))
    await world.finished(60)
    await world.startWorker()
    await world.finished(120)
    expect(world.sandbox.stats()).toMatchObject({ executed: 120, billedTwice: 0 })
    expect(world.sandbox.stats().maxOperationsInAnySecond).toBeLessThanOrEqual(60)
  })

  test('is not exceeded when a request takes its time on the way to the gateway', async () => {
    const gateway = await startFront()
    const world = await startWorld({ settings: { gateway: { url: gateway.url, rate: 20 } } })
    gateway.target = world.sandbox.url
    gateway.answer = async () => {
      if (gateway.passed.length === 1) await sleep(systemClock, 300)
      return undefined
    }
    await world.send(messages(40))
    await world.finished(40)
    expect(world.sandbox.stats()).toMatchObject({ executed: 40, maxOperationsInAnySecond: 20 })
  })

  test('is kept for each account by itself, and what is refused counts', async () => {
    const world = await startWorld({
      settings: { gateway: { rate: 20, accounts: { shop: { apiKey: 'shop-key', rate: 40 } } } },
      sandbox: { keys: { default: 'sandbox-key', shop: 'shop-key' } },
    })
    const refused = messages(60, 101).map(command => ({ ...command, account: 'shop', phone: 380501234592 }))
    await world.send([...messages(30), ...refused])
    await world.finished(90)
    expect(world.sandbox.stats().accounts).toMatchObject({
      default: { executed: 30, maxOperationsInAnySecond: 20 },
      shop: { executed: 0, maxOperationsInAnySecond: 40 },
    })
  })
})
