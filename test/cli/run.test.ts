import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { busgate, startBusgate } from '../support/cli.ts'
import { startProvingGateway } from '../support/reverse-proxy.ts'

const nowhere = {
  BUSGATE_KAFKA_BROKERS: 'embedded',
  BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
  BUSGATE_GATEWAY_API_KEY: 'test-key',
  BUSGATE_TELEMETRY_HOST: '127.0.0.1',
  BUSGATE_TELEMETRY_PORT: '0',
}

const withGateway = async () => ({ ...nowhere, BUSGATE_GATEWAY_URL: await startProvingGateway() })

test.each(['SIGTERM', 'SIGINT'] as const)('run becomes ready, and at %s drains and exits 0', async signal => {
  const run = startBusgate(['run'], { env: await withGateway() })
  const { telemetry: port } = JSON.parse(await run.line('worker.started'))
  await vi.waitFor(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200), 60_000)
  run.signal(signal)
  const { code, stdout, stderr } = await run.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const events = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line).event)
  expect(events.slice(-1)).toEqual(['worker.stopped'])
})

test('a second signal ends a draining run at once', async () => {
  const run = startBusgate(['run'], {
    env: {
      ...(await withGateway()),
      BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-tests',
      BUSGATE_CALLBACKS_HOST: '127.0.0.1',
      BUSGATE_CALLBACKS_PORT: '0',
    },
  })
  const { callbacks } = JSON.parse(await run.line('worker.started'))
  const callback = connect(callbacks, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void callback.destroy())
  await once(callback, 'connect')
  callback.write('POST /hooks/a-token HTTP/1.1\r\nhost: hooks\r\n') // it drains until the rest arrives, or for some seconds
  run.signal('SIGTERM')
  await run.line('worker.stopping')
  const again = setInterval(() => run.signal('SIGINT'), 100)
  const { code, stdout } = await run.ended.finally(() => clearInterval(again))
  expect(code).toBe(130)
  expect(stdout).not.toContain('worker.stopped')
})

test('run with a port in use exits 1 and names the setting', async () => {
  const first = startBusgate(['run'], { env: await withGateway() })
  const { telemetry: port } = JSON.parse(await first.line('worker.started'))
  const { code, stdout, stderr } = await busgate(['run'], {
    env: { ...nowhere, BUSGATE_TELEMETRY_PORT: String(port) },
  })
  expect([code, stderr]).toEqual([1, ''])
  expect(JSON.parse(stdout)).toMatchObject({
    level: 'fatal',
    event: 'worker.failed',
    msg: expect.stringContaining('set telemetry.host and telemetry.port (BUSGATE_TELEMETRY_PORT) to a free address'),
  })
})

test('run that waits for the brokers recommends busgate doctor in its log', async () => {
  const env = { ...nowhere, BUSGATE_KAFKA_BROKERS: '127.0.0.1:1', BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' }
  const run = startBusgate(['run'], { env })
  expect(await run.line('bus.unavailable')).toContain('busgate doctor')
  run.signal('SIGTERM')
  expect((await run.ended).code).toBe(0)
})

test('run that waits for its gateway says so in its log, and exits 0 when it is stopped', async () => {
  const run = startBusgate(['run'], { env: nowhere })
  expect(await run.line('gateway.unproved')).toContain('connect ECONNREFUSED 127.0.0.1:1')
  run.signal('SIGTERM')
  const { code, stdout, stderr } = await run.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain('session.opened')
})

test('run that waits for the registry can be stopped, and a second signal ends it at once', async () => {
  const env = { ...nowhere, BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' }
  const run = startBusgate(['run'], { env })
  await run.line('registry.unavailable')
  run.signal('SIGTERM')
  await run.line('worker.stopping')
  const again = setInterval(() => run.signal('SIGTERM'), 100)
  const { code, stderr } = await run.ended.finally(() => clearInterval(again))
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' }) // no warnings of Node about dependencies
})
