import { describe, expect, onTestFinished, test } from 'vitest'
import { waitForResult } from '../../src/consumer/index.ts'
import { createWorker, loadSettings, openBus } from '../../src/index.ts'
import { createProducer, type NewCommand } from '../../src/producer.ts'
import { startSandbox } from '../../src/sandbox/index.ts'

const command: NewCommand = {
  id: 1,
  phone: 380671234567,
  type: 'sms',
  message: { sms_message: 'Hello', sms_signature: 'Shop' },
}

/** A service with a worker. @returns the outcome of its first command */
async function outcomeOfFirst(isOnOwnBus: boolean): Promise<string> {
  await using sandbox = await startSandbox()
  const overrides = {
    kafka: { brokers: 'embedded' as const },
    gateway: { url: sandbox.url, apiKey: 'sandbox-key' },
    telemetry: { port: 0 },
    topics: { results: 'own-bus.results', commands: ['own-bus.commands'] },
  }
  const settings = loadSettings({ env: {}, overrides })
  const bus = isOnOwnBus ? await openBus(settings) : null
  onTestFinished(() => bus?.close())
  const parts = bus ? { bus } : {}
  await using _worker = await createWorker(settings, parts)
  await using producer = await createProducer(settings, parts)
  const [sent] = await producer.send([command])
  expect(await waitForResult(settings, 1, parts)).toMatchObject({ outcome: 'SENT' })
  const { commandOffset } = await sent.result()
  return `${sandbox.executions(1)} executed, offset ${commandOffset}`
}

describe('the embedded bus', () => {
  test('is a new one for those that get it from openBus, so that tests with the same ids do not meet', async () => {
    const outcomes = await Promise.all([outcomeOfFirst(true), outcomeOfFirst(true)])
    expect(outcomes).toEqual(['1 executed, offset 0', '1 executed, offset 0'])
  })

  test('is one for all of a process that get none', async () => {
    await outcomeOfFirst(false)
    expect(await outcomeOfFirst(false)).toBe('0 executed, offset 0')
  })
})
