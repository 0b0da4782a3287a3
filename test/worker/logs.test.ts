import { expect, test } from 'vitest'
import { createLogger } from '../../src/telemetry/logs.ts'
import { until } from '../support/bus.ts'
import { buildCommandOf } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

const phone = 380671230067
const words = 'Dear Olena, your code is 0427-zebra'
const key = 'key-that-nobody-may-see'
const secret = 'k1:secret-that-nobody-may-see'

test('no phone number, message text, key or hook token gets into the logs, whatever happens', async () => {
  const logged: string[] = []
  const logger = createLogger('trace', { write: line => logged.push(line) })
  const world = await startWorld({
    logger,
    settings: { gateway: { apiKey: key, timeoutMs: 300 }, callbacks: { secret } },
    sandbox: { keys: [key] },
  })
  const { faults } = world.sandbox
  const sms = (id: bigint, overrides = {}) => ({
    ...buildCommandOf('sms', { id, phone, correlationId: words }, { sms_message: words }),
    ...overrides,
  })

  await world.send([
    sms(1n),
    sms(2n, { phone: phone + 25 }), // refused
    sms(3n, { deadline: 1 }),
    sms(1n),
    sms(4n, { account: words }),
    sms(5n, { phone: phone * 1000 }),
    buildCommandOf('telegram', { id: 6n, phone }, { message: words }),
    buildCommandOf('call/otp', { id: 7n, phone }),
    buildCommandOf('hlr', { id: 8n, phone }),
  ])
  await world.produceRaw(Buffer.from(`{"phone":${phone},"text":"${words}"}`), { key: Buffer.from(String(phone)) })
  await world.produceRaw(world.encode(sms(9n)).subarray(0, 40), { headers: { phone: String(phone), words } })
  await world.finished(9)

  const bad = ['stall', 'foreign-ids', 'access-denied', 'envelope-refused'] as const
  for (const [i, fault] of bad.entries()) {
    faults.next(fault)
    await world.send([sms(BigInt(100 + 2 * i)), sms(BigInt(101 + 2 * i))])
    await until(() => expect(world.results()).toHaveLength(9 + 2 * (i + 1)))
  }
  const [{ path } = { path: '' }] = world.receiver.passed
  const token = path.split('/')[2]!
  const body = { success: true, id: String(phone), msg_id: '1', status: words, error: words }
  const post = (address: string, content: string) =>
    fetch(`${world.receiver.url}${address}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: content,
    })
  await post(path, JSON.stringify(body))
  await post(`${path}x`, JSON.stringify(body))
  await post(path, `${words} ${phone}`)
  await world.quiet()

  const text = logged.join('')
  for (const event of [
    'results.published',
    'account.paused',
    'deadLetter.published',
    'doubt.opened',
    'session.opened',
  ]) {
    expect(text).toContain(`"event":"${event}"`)
  }
  expect(text).toContain('"event":"callback.refused"')
  const forbidden = [phone, phone + 25, words, 'zebra', key, secret, secret.slice(3), token, 'sandbox-key']
  for (const one of forbidden) expect(text).not.toContain(String(one))
})
