import { expect, onTestFinished, test } from 'vitest'
import { finalOf, readResults, readStatuses, type SendResult, waitForResult } from '../../src/consumer/index.ts'
import { createWorker, loadSettings } from '../../src/index.ts'
import { createProducer, type NewCommand } from '../../src/producer.ts'
import { startSandbox } from '../../src/sandbox/index.ts'

const sms = (id: number): NewCommand => ({
  ...{ id, phone: 380671234567, type: 'sms' },
  message: { sms_message: 'Your order is ready', sms_signature: 'Shop' },
})

test("a user's test in one process asks what became of what it sent, with nothing but the package", async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const settings = loadSettings({
    env: {},
    overrides: {
      kafka: { brokers: 'embedded' },
      gateway: { url: sandbox.url, apiKey: 'sandbox-key' },
      telemetry: { port: 0 },
      callbacks: { port: 0 },
    },
  })
  const worker = await createWorker(settings)
  onTestFinished(() => worker.stop())
  const producer = await createProducer(settings)
  onTestFinished(() => producer.close())

  await producer.send([sms(1), sms(2)])
  expect(await waitForResult(settings, 1, { signal: AbortSignal.timeout(20_000) })).toMatchObject({ outcome: 'SENT' })
  await producer.send([sms(2)])
  const results: SendResult[] = []
  for await (const { value } of readResults(settings, {
    from: { group: 'a-users-test' },
    signal: AbortSignal.timeout(20_000),
  })) {
    results.push(value)
    if (results.length === 3) break
  }
  expect(finalOf(results, { id: 2 })).toMatchObject({ outcome: 'SENT' })
  expect(results.map(({ outcome }) => outcome).sort()).toEqual(['DUPLICATE', 'SENT', 'SENT'])
  for await (const status of readStatuses(settings, { from: 'earliest', untilEnd: true }))
    expect(status).toBeUndefined()
})
