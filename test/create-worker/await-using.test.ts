import { expect, test } from 'vitest'
import { loadSettings } from '../../src/config/index.ts'
import { readResults } from '../../src/consumer/index.ts'
import { createWorker, openBus } from '../../src/index.ts'
import { createProducer } from '../../src/producer.ts'
import { startSandbox } from '../../src/sandbox/index.ts'

test('await using ends a bus, a worker, a producer, a reader and a sandbox', async () => {
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
    await using bus = await openBus(settings)
    await using worker = await createWorker(settings, { bus })
    await using producer = await createProducer(settings, { bus })
    const message = { sms_message: 'Hello', sms_signature: 'Shop' }
    const [sent] = await producer.send([{ id: 1, phone: 380671234567, type: 'sms', message }])
    expect(await sent.result()).toMatchObject({ outcome: 'SENT' })
    await using results = readResults(settings, { from: 'earliest', bus })
    expect((await results.next()).value).toMatchObject({ value: { id: 1n } })
    urls = [`http://127.0.0.1:${worker.ports.telemetry}/healthz`, sandbox.url]
    for (const url of urls) await fetch(url)
  }
  for (const url of urls) await expect(fetch(url)).rejects.toThrow('fetch failed')
})
