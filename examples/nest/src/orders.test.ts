// Tests of the service without Kafka and without the gateway: npx tsc && node --test dist/orders.test.js
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NestFactory } from '@nestjs/core'
import { loadSettings } from 'busgate'
import { startSandbox } from 'busgate/sandbox'
import { ordersWith } from './orders.js'

test('an order that is ready sends one SMS, and its handler returns the result', async t => {
  const sandbox = await startSandbox()
  const overrides = {
    kafka: { brokers: 'embedded' as const },
    gateway: { url: sandbox.url, apiKey: 'sandbox-key' },
    telemetry: { port: 0 },
  }
  const app = await NestFactory.create(ordersWith(loadSettings({ env: {}, overrides })))
  await app.listen(0)
  t.after(async () => {
    await app.close()
    await sandbox.close()
  })
  const url = await app.getUrl()
  const post = async (phone: string) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/orders/17/ready`, { method: 'POST', headers, body: JSON.stringify({ phone }) })
    return [answer.status, await answer.json()]
  }
  assert.deepEqual(await post('067 123-45-67'), [201, { outcome: 'SENT', errorCode: null }])
  assert.deepEqual(await post('067 123-45-67'), [201, { outcome: 'SENT', errorCode: null }])
  assert.equal(sandbox.executions(17), 1)
  assert.equal((await post('ask me'))[0], 400)
  const health = await fetch(`${url}/health`)
  assert.deepEqual(await health.json(), { ready: true, reasons: [] })
})
