import { describe, expect, test } from 'vitest'
import { accountHookUrl } from '../../src/callbacks/hook-url.ts'
import { tokensOf } from '../../src/callbacks/role.ts'
import { lifecycleAfter, newLifecycle, newUnhookedLifecycle, verdictOf } from '../../src/index.ts'
import { until } from '../support/bus.ts'
import { callback, post } from '../support/callbacks.ts'
import { buildCommand, buildCommandOf, silentPhone } from '../support/commands.ts'
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
  test('whose callback never comes gets its verdict from a poll, once', async () => {
    const world = await startReconcilingWorld()
    const marks = { correlationId: 'order-1', tenant: 'shop', campaign: 'spring' }
    await world.send([buildCommand({ id: 1n, phone: silentPhone, ...marks })])
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
        ...marks,
        commandType: 'sms',
        country: 'UA',
        eventId: expect.any(String),
      },
    ])
  })

  test('with an unverified verdict is still polled for; without its own hook the verdict is believed', async () => {
    const world = await startReconcilingWorld({ reconciler: { delayMs: 2000, expectMs: 2000 } })
    await world.send([
      buildCommand({ id: 1n, phone: silentPhone }),
      buildCommandOf('pipeline', { id: 2n, phone: silentPhone }),
    ])
    await world.finished(2)
    const url = accountHookUrl(world.receiver.url, tokensOf(world.settings)!, 'default')
    for (const id of [1, 2]) {
      expect((await post(url, callback({ id, success: false, status: 'UNDELIVERABLE' }))).status).toBe(200)
    }
    await until(() => expect(eventsOf(world, 1n)).toEqual(['CALLBACK FAILED', 'POLL DELIVERED']))
    await world.quiet()
    expect(eventsOf(world, 2n)).toEqual(['CALLBACK FAILED'])
    const lives = [1n, 2n].map(id =>
      world
        .statuses()
        .filter(event => event.id === id)
        .reduce(lifecycleAfter, id === 2n ? newUnhookedLifecycle : newLifecycle),
    )
    expect(lives.map(verdictOf)).toEqual(['DELIVERED', 'FAILED'])
  })

  test('that was delivered has one verdict, without polls', async () => {
    const world = await startReconcilingWorld({ reconciler: { delayMs: 3000, expectMs: 3000 } })
    await world.send([buildCommand({ id: 1n }), buildCommand({ id: 2n, phone: silentPhone })])
    await until(() => expect(eventsOf(world, 2n)).toEqual(['POLL DELIVERED']))
    await world.quiet()
    expect(eventsOf(world, 1n)).toEqual(['CALLBACK DELIVERED'])
    expect(world.sandbox.stats().operations).toBe(3)
  })
})
