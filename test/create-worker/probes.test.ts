import { expect, onTestFinished, test } from 'vitest'
import { startRegistry } from '../records/registry-server.ts'
import { until } from '../support/bus.ts'
import { startBusgate } from '../support/cli.ts'
import { buildCommand } from '../support/commands.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { probe } from '../support/probe.ts'
import { provingAnswer, startProxy } from '../support/reverse-proxy.ts'
import { startWorld } from '../support/worker.ts'

const nobody = '127.0.0.1:1'

/** Starts `busgate run`, by default with a working registry and unreachable brokers. */
async function startProcess(env: Record<string, string>): Promise<number> {
  const registry = await startRegistry()
  onTestFinished(() => registry.stop())
  const [port] = await freePorts(1)
  startBusgate(['run'], {
    env: {
      BUSGATE_KAFKA_BROKERS: nobody,
      BUSGATE_REGISTRY_URL: registry.url,
      BUSGATE_GATEWAY_URL: `http://${nobody}`,
      BUSGATE_GATEWAY_API_KEY: 'test-key',
      BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-tests',
      BUSGATE_CALLBACKS_PORT: '0',
      BUSGATE_TELEMETRY_HOST: '127.0.0.1',
      BUSGATE_TELEMETRY_PORT: String(port),
      ...env,
    },
  })
  return port!
}

test.each(['worker', 'callbacks', 'reconciler'])(
  'the start-up probe of the role %s fails while the brokers are unreachable, and prints why',
  async role => {
    const port = await startProcess({ BUSGATE_ROLES: role })
    await until(async () => expect((await probe(port, 'started')).output).toContain('starting: no broker answers'))
    expect(await probe(port, 'started')).toMatchObject({ passes: false })
    const readyz = await fetch(`http://127.0.0.1:${port}/readyz`)
    expect([readyz.status, await readyz.json()]).toMatchObject([503, { ready: false, started: false }])
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    expect(metrics).toContain(`busgate_ready{role="${role}"} 0`)
  },
)

test('the start-up probe fails while nothing listens', async () => {
  const [port] = await freePorts(1)
  expect(await probe(port!, 'started')).toMatchObject({
    passes: false,
    output: expect.stringContaining('ECONNREFUSED'),
  })
})

test.each(['worker', 'reconciler'])(
  'until the gateway has answered, the start-up probe of the role %s passes, its readiness probe fails and prints why',
  async role => {
    const gateway = await startProxy()
    gateway.answer = () => ({ status: 404, body: '' })
    const port = await startProcess({
      ...{ BUSGATE_ROLES: role, BUSGATE_KAFKA_BROKERS: 'embedded', BUSGATE_REGISTRY_URL: '' },
      BUSGATE_GATEWAY_URL: gateway.url,
    })
    await until(async () => expect((await probe(port, 'ready')).output).toContain('HTTP 404'))
    expect(await probe(port, 'ready')).toEqual({
      passes: false,
      output: `holds no partition until the gateway at ${gateway.url} (gateway.url, BUSGATE_GATEWAY_URL) accepts a key: account default: HTTP 404\n`,
    })
    expect(await probe(port, 'started')).toEqual({ passes: true, output: '' })

    gateway.answer = () => provingAnswer
    await until(async () => expect(await probe(port, 'ready')).toEqual({ passes: true, output: '' }))
  },
)

test('both probes pass while every account is held back by an outage', async () => {
  const gateway = await startProxy()
  const world = await startWorld({ gateway })
  gateway.answer = () => ({ status: 404, body: '' })
  await world.send([buildCommand({ id: 1n })])
  await until(() =>
    expect(world.worker.ready()).toMatchObject({
      reasons: [],
      warnings: [
        expect.stringMatching(/^account default has been held back since .*, because the gateway cannot be reached/),
      ],
    }),
  )
  for (const asked of ['started', 'ready'] as const)
    expect(await probe(world.worker.ports.telemetry, asked)).toEqual({ passes: true, output: '' })
})
