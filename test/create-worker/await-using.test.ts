import { expect, test } from 'vitest'
import { loadSettings } from '../../src/config/index.ts'
import { createWorker } from '../../src/create-worker.ts'
import { createProducer } from '../../src/producer.ts'
import { startSandbox } from '../../src/sandbox/index.ts'

test('await using ends a worker, a producer and a sandbox', async () => {
  let urls: string[]
  {
    await using sandbox = await startSandbox()
    const settings = loadSettings({
      env: {},
      overrides: {
        kafka: { brokers: 'embedded' },
        gateway: { url: sandbox.url, apiKey: 'sandbox-key' },
        telemetry: { port: 0 },
      },
    })
    await using worker = await createWorker(settings)
    await using producer = await createProducer(settings)
    const message = { sms_message: 'Hello', sms_signature: 'Shop' }
    const [sent] = await producer.send([{ id: 1, phone: 380671234567, type: 'sms', message }])
    expect(await sent.result()).toMatchObject({ outcome: 'SENT' })
    urls = [`http://127.0.0.1:${worker.ports.telemetry}/healthz`, sandbox.url]
    for (const url of urls) await fetch(url)
  }
  for (const url of urls) await expect(fetch(url)).rejects.toThrow('fetch failed')
})
