import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startRegistry } from '../records/registry-server.ts'
import { until } from '../support/bus.ts'
import { startBusgate } from '../support/cli.ts'
import { buildCommand } from '../support/commands.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { startWorld } from '../support/worker.ts'

vi.setConfig({ testTimeout: 60_000 })

const script = readFileSync(new URL('../../helm/probes/started.js', import.meta.url), 'utf8')
const nobody = '127.0.0.1:1'

/** Runs the chart's start-up probe as the kubelet does. */
function probe(port: number): Promise<{ passes: boolean; output: string }> {
  return new Promise(resolve =>
    execFile(process.execPath, ['-e', script, String(port)], (error, stdout, stderr) =>
      resolve({ passes: error === null, output: stdout + stderr }),
    ),
  )
}

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
    await until(async () => expect((await probe(port)).output).toContain('starting: no broker answers'))
    expect(await probe(port)).toMatchObject({ passes: false })
    const readyz = await fetch(`http://127.0.0.1:${port}/readyz`)
    expect([readyz.status, await readyz.json()]).toMatchObject([503, { ready: false, started: false }])
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    expect(metrics).toContain(`busgate_ready{role="${role}"} 0`)
  },
)

test('the start-up probe fails while nothing listens', async () => {
  const [port] = await freePorts(1)
  expect(await probe(port!)).toMatchObject({ passes: false, output: expect.stringContaining('ECONNREFUSED') })
})

test('the start-up probe passes even while every account is paused', async () => {
  const world = await startWorld({ settings: { gateway: { url: `http://${nobody}` } } })
  await world.send([buildCommand({ id: 1n })])
  await until(() =>
    expect(world.worker.ready().reasons).toEqual([
      expect.stringContaining('account default is held back (unreachable)'),
    ]),
  )
  expect(await probe(world.worker.ports.telemetry)).toEqual({ passes: true, output: '' })
})
