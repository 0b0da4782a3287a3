import { describe, expect, test } from 'vitest'
import { readResults, readStatuses, waitForResult } from '../../src/consumer/index.ts'
import { type Bus, createWorker, loadSettings, openBus } from '../../src/index.ts'
import { createProducer } from '../../src/producer.ts'
import { until } from '../support/bus.ts'
import { collectGarbage } from '../support/garbage.ts'
import { freePorts } from '../support/local-kafka/ports.ts'

const access = { url: 'http://127.0.0.1:1', apiKey: 'key' }
const overrides = { kafka: { brokers: 'embedded' as const }, gateway: access, telemetry: { port: 0 } }
const settings = loadSettings({ env: {}, overrides })
const sms = {
  id: 1,
  phone: 380671234567,
  type: 'sms',
  message: { sms_message: 'Hello', sms_signature: 'Shop' },
} as const

async function firstOf(records: AsyncIterable<unknown>): Promise<unknown> {
  for await (const record of records) return record
  return 'ended'
}

/** What waits for records, on a bus of the caller's. */
const waits: Readonly<Record<string, (bus: Bus) => Promise<unknown>>> = {
  readResults: bus => firstOf(readResults(settings, { from: 'earliest', bus })),
  'readStatuses in a group': bus => firstOf(readStatuses(settings, { from: { group: 'billing' }, bus })),
  waitForResult: bus => waitForResult(settings, 1, { bus }),
}

describe('after its bus was closed', () => {
  test.each(Object.entries(waits))(
    '%s ends with an error that says so, whether it waits or begins',
    async (_, wait) => {
      const bus = await openBus(settings)
      const waiting = wait(bus)
      waiting.catch(() => {})
      await new Promise(resolve => setImmediate(resolve))
      await bus.close()
      await expect(waiting).rejects.toThrow('the bus is closed')
      await expect(wait(bus)).rejects.toThrow('the bus is closed')
    },
  )

  test('a producer writes nothing, and its handles reject', async () => {
    const bus = await openBus(settings)
    await using producer = await createProducer(settings, { bus })
    const [sent] = await producer.send([sms])
    const waiting = sent.result()
    waiting.catch(() => {})
    await bus.close()
    await expect(waiting).rejects.toThrow('the bus is closed')
    await expect(sent.result()).rejects.toThrow('the bus is closed')
    await expect(producer.send([sms])).rejects.toThrow('the bus is closed')
  })

  test('neither a producer nor a worker starts', async () => {
    const bus = await openBus(settings)
    await bus.close()
    await expect(createProducer(settings, { bus })).rejects.toThrow('the bus is closed')
    const [port] = await freePorts(1)
    const onPort = loadSettings({ env: {}, overrides: { ...overrides, telemetry: { port: port! } } })
    for (
      let start = 1;
      start <= 2;
      start++ // the first start frees the port
    )
      await expect(createWorker(onPort, { bus })).rejects.toThrow('the bus is closed')
  })
})

test('a bus that nobody uses any more is not kept in memory by the waits on it', async () => {
  async function waitOnOne(): Promise<WeakRef<Bus>> {
    await using bus = await openBus(settings)
    await using producer = await createProducer(settings, { bus })
    const [sent] = await producer.send([sms])
    await sent.result({ signal: AbortSignal.timeout(1) }).catch(() => {})
    return new WeakRef(bus)
  }
  const bus = await waitOnOne()
  await until(async () => {
    collectGarbage()
    if (bus.deref()) throw new Error('the bus is in memory')
  })
})

test('what is no bus is refused', async () => {
  await using producer = await createProducer(settings)
  for (const bus of [{}, null, producer] as never[]) {
    await expect(createProducer(settings, { bus })).rejects.toThrow('bus must be one that openBus has opened')
    await expect(createWorker(settings, { bus })).rejects.toThrow('bus must be one that openBus has opened')
  }
})
