import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { startBusgate } from '../support/cli.ts'
import { commandsFrom } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('a process that is told to stop', brokers => {
  test('is not ready any more, finishes what is in flight, commits and exits 0: nothing is in doubt', async () => {
    const world = await startWorld({ brokers, sandbox: { latencyMs: 1500 } })
    await world.worker.stop() // a process does its work
    const { sandbox } = world
    const run = startBusgate(['run'], {
      env: {
        ...environmentOf(world),
        BUSGATE_ROLES: 'worker',
        BUSGATE_GATEWAY_MAX_OPERATIONS: '5',
        BUSGATE_GATEWAY_CONCURRENCY: '4',
        BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
        BUSGATE_TELEMETRY_HOST: '127.0.0.1',
        BUSGATE_TELEMETRY_PORT: '0',
      },
    })
    const { telemetry: port } = JSON.parse(await run.line('worker.started'))
    const readyz = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status
    await until(async () => expect(await readyz()).toBe(200))
    await world.send(commandsFrom(1, 100))
    await until(() => expect(sandbox.stats().executed).toBeGreaterThan(0))
    run.signal('SIGTERM')
    await run.line('worker.stopping')
    expect(await readyz()).toBe(503)
    expect((await run.ended).code).toBe(0)
    const { executed } = sandbox.stats()
    expect(executed).toBeLessThan(100)
    await until(() => expect(world.results()).toHaveLength(executed))
    expect(new Set(world.results().map(({ outcome }) => outcome))).toEqual(new Set(['SENT']))
    await world.startWorker()
    await world.finished(100)
    await world.quiet()
    expect(world.results().map(({ outcome }) => outcome)).toEqual(Array(100).fill('SENT'))
    expect(sandbox.stats()).toMatchObject({ executed: 100, billedTwice: 0 })
  })
})
