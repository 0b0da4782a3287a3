import { expect, onTestFinished, test } from 'vitest'
import { readResults, waitForResult } from '../../src/consumer/index.ts'
import { loadSettings, openBus } from '../../src/index.ts'
import { createProducer } from '../../src/producer.ts'
import { operation, postOne, sandboxFor } from '../sandbox/support.ts'

const settings = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' } } })
const message = { sms_message: 'Hello', sms_signature: 'Shop' }
const command = { id: 1, phone: 380671234567, type: 'sms', message } as const

const never = () => new Promise<never>(() => {})
const silentRegistry = { schemaOf: never, idOf: never }
const silentKafka = { sendBatch: never }

async function ownBus() {
  const bus = await openBus(settings)
  onTestFinished(() => bus.close())
  return bus
}

async function handle() {
  const producer = await createProducer(settings, { bus: await ownBus() })
  onTestFinished(() => producer.close())
  const [sent] = await producer.send([command])
  return sent
}

/** A sandbox that owes a callback. */
async function owingSandbox() {
  const sandbox = await sandboxFor({ callbackDelayMs: 600_000 })
  await postOne(sandbox, operation('sms', { hook: 'http://127.0.0.1:1/' }))
  expect(sandbox.stats().callbacks.pending).toBe(1)
  return sandbox
}

/** What waits, and would wait for ever in these tests. */
const waits: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
  createProducer: signal => createProducer(settings, { registry: silentRegistry, signal }),
  send: async signal => (await createProducer(settings, { producer: silentKafka })).send([command], { signal }),
  withdraw: async signal => {
    const producer = await createProducer(settings, { producer: silentKafka })
    await producer.withdraw({ campaign: 'spring', reason: 'a typo' }, { signal })
  },
  waitForResult: async signal => waitForResult(settings, 1, { bus: await ownBus(), signal }),
  result: async signal => (await handle()).result({ signal }),
  verdict: async signal => (await handle()).verdict({ signal }),
  drained: async signal => (await owingSandbox()).drained({ signal }),
}

test.each(Object.entries(waits))('%s ends with the reason of its signal, before or while it waits', async (_, wait) => {
  const reason = new Error('the customer has left')
  await expect(wait(AbortSignal.abort(reason))).rejects.toBe(reason)
  const leaving = new AbortController()
  const waiting = wait(leaving.signal)
  setTimeout(() => leaving.abort(reason), 20)
  await expect(waiting).rejects.toBe(reason)
})

test('the loop of a reader ends without an error when its signal aborts', async () => {
  const signal = AbortSignal.timeout(20)
  for await (const _ of readResults(settings, { from: 'earliest', bus: await ownBus(), signal })) expect.unreachable()
})
