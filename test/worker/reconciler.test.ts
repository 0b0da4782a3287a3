import { describe, expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { buildCommand, silentPhone } from '../support/commands.ts'
import { startWorld, type World, type WorldOptions } from '../support/worker.ts'

const startReconcilingWorld = ({ reconciler = {}, ...options }: WorldOptions & { reconciler?: object } = {}) =>
  startWorld({
    ...options,
    settings: {
      roles: ['worker', 'callbacks', 'reconciler'],
      reconciler: { delayMs: 200, expectMs: 200, graceMs: 1000, ...reconciler },
    },
  })

const eventsOf = (world: World, id: bigint) =>
  world
    .statuses()
    .filter(event => event.id === id)
    .map(({ source, state, final }) => `${source} ${state}${final ? '' : ' for now'}`)

describe('a message', () => {
  test('whose callback never comes has its verdict from the status that was asked for, once', async () => {
    const world = await startReconcilingWorld()
    await world.send([buildCommand({ id: 1n, phone: silentPhone, correlationId: 'order-1', tenant: 'shop' })])
    await until(() => expect(eventsOf(world, 1n)).toEqual(['POLL DELIVERED']))
    await world.quiet()
    expect(world.statuses()).toMatchObject([
      {
        msgId: world.resultOf(1).msgId,
        account: 'default',
        type: 'sms',
        status: 'DELIVERED',
        final: true,
        success: null,
        verified: true,
        correlationId: 'order-1',
        tenant: 'shop',
      },
    ])
  })

  test('that was delivered has one verdict: the gateway is not asked', async () => {
    const world = await startReconcilingWorld({ reconciler: { delayMs: 3000, expectMs: 3000 } })
    await world.send([buildCommand({ id: 1n }), buildCommand({ id: 2n, phone: silentPhone })])
    await until(() => expect(eventsOf(world, 2n)).toEqual(['POLL DELIVERED']))
    await world.quiet()
    expect(eventsOf(world, 1n)).toEqual(['CALLBACK DELIVERED'])
    expect(world.sandbox.stats().operations).toBe(3)
  })
})
