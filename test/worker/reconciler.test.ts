import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { buildCommand, silentPhone } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

test('a message whose callback never comes gets its verdict from a poll, once', async () => {
  const world = await startWorld({
    settings: {
      roles: ['worker', 'callbacks', 'reconciler'],
      reconciler: { delayMs: 200, expectMs: 200, graceMs: 1000 },
    },
  })
  const marks = { correlationId: 'order-1', tenant: 'shop', campaign: 'spring' }
  await world.send([buildCommand({ id: 1n, phone: silentPhone, ...marks })])
  await until(() => expect(world.statuses()).toHaveLength(1))
  await world.quiet()
  expect(world.statuses()).toMatchObject([
    {
      msgId: world.resultOf(1).msgId,
      account: 'default',
      type: 'sms',
      status: 'DELIVERED',
      final: true,
      success: null,
      source: 'POLL',
      verified: true,
      ...marks,
      commandType: 'sms',
      country: 'UA',
      eventId: expect.any(String),
    },
  ])
})
