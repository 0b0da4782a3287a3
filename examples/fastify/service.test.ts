// Tests of the service without Kafka and without the gateway: node --test service.test.ts
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSettings } from 'busgate'
import { startSandbox } from 'busgate/sandbox'
import { buildService } from './service.ts'

test('an order that is ready sends one SMS, and its handler returns the result', async t => {
  const sandbox = await startSandbox()
  const overrides = {
    kafka: { brokers: 'embedded' as const },
    gateway: { url: sandbox.url, apiKey: 'sandbox-key' },
    telemetry: { port: 0 },
  }
  const service = buildService(loadSettings({ env: {}, overrides }))
  t.after(async () => {
    await service.close()
    await sandbox.close()
  })
  const post = async (phone: string) => {
    const answer = await service.inject({ method: 'POST', url: '/orders/17/ready', body: { phone } })
    return [answer.statusCode, answer.json()]
  }
  assert.deepEqual(await post('067 123-45-67'), [200, { outcome: 'SENT', errorCode: null }])
  assert.deepEqual(await post('067 123-45-67'), [200, { outcome: 'SENT', errorCode: null }])
  assert.equal(sandbox.executions(17), 1)
  assert.deepEqual(await post('ask me'), [400, { error: 'phone must be a phone number' }])
  assert.deepEqual((await service.inject('/health')).json(), { ready: true, reasons: [] })
})
