// Tests of a service that sends through busgate, without Kafka and without the gateway: node --test embedded.test.mts
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { createWorker, loadSettings, openBus, Telemetry } from 'busgate'
import { createProducer } from 'busgate/producer'
import { startSandbox } from 'busgate/sandbox'

/** Starts a worker with a bus of its own and a gateway, all in this process. */
async function startAll(t: TestContext) {
  const sandbox = await startSandbox({ callbackDelayMs: 0 })
  const settings = loadSettings({
    env: {},
    overrides: {
      kafka: { brokers: 'embedded' },
      gateway: { url: sandbox.url, apiKey: 'sandbox-key' },
      telemetry: { port: 0 },
    },
  })
  const telemetry = new Telemetry()
  const bus = await openBus(settings)
  const worker = await createWorker(settings, { bus, telemetry })
  const producer = await createProducer(settings, { bus })
  t.after(async () => {
    await producer.close()
    await worker.close()
    await bus.close()
    await sandbox.close()
  })
  return { sandbox, telemetry, producer }
}

const message = { sms_message: 'Your order is ready', sms_signature: 'Shop' }
const patience = () => AbortSignal.timeout(10_000)

test('a finished order sends one SMS', async t => {
  const { sandbox, telemetry, producer } = await startAll(t)
  const published = once(telemetry, 'results.published')
  const [sent] = await producer.send([
    { id: 1001, phone: 380671234567, type: 'sms', message, correlationId: 'order-17' },
  ])
  const { outcome, correlationId } = await sent.result({ signal: patience() })
  assert.deepEqual({ outcome, correlationId }, { outcome: 'SENT', correlationId: 'order-17' })
  assert.equal(sandbox.executions(1001), 1)
  const [event] = await published
  assert.deepEqual([event.type, event.outcome, event.count], ['sms', 'SENT', 1])
})

test('a refused sender name ends REJECTED with its code', async t => {
  const { producer } = await startAll(t)
  const refused = 380671234590 // the last two digits choose the outcome: docs/sandbox.md
  const [sent] = await producer.send([{ id: 1001, phone: refused, type: 'sms', message }])
  const { outcome, errorCode } = await sent.result({ signal: patience() })
  assert.deepEqual({ outcome, errorCode }, { outcome: 'REJECTED', errorCode: 'SENDER_INVALID' })
})

test('the service starts, and stops on SIGTERM', async t => {
  const sandbox = await startSandbox()
  t.after(() => sandbox.close())
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('BUSGATE_'))
  const env = {
    ...Object.fromEntries(others),
    BUSGATE_KAFKA_BROKERS: 'embedded',
    BUSGATE_GATEWAY_URL: sandbox.url,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_TELEMETRY_PORT: '0',
  }
  const service = spawn(process.execPath, [`${import.meta.dirname}/service.mts`], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => service.kill('SIGKILL'))
  const ended = once(service, 'exit')
  const told: string[] = []
  for await (const line of createInterface(service.stdout)) {
    const { msg } = JSON.parse(line)
    if (msg?.startsWith('the service')) told.push(msg) // the worker logs to the same stream
    if (msg === 'the service has started') service.kill('SIGTERM')
  }
  assert.deepEqual(told, ['the service has started', 'the service has stopped'])
  assert.deepEqual(await ended, [0, null])
})
