import { describe, expect, test } from 'vitest'
import { accountHookUrl } from '../../src/callbacks/hook-url.ts'
import { tokensOf } from '../../src/callbacks/role.ts'
import { until } from '../support/bus.ts'
import { buildCommand, buildCommandOf, silentPhone } from '../support/commands.ts'
import { finalOf, outcomesOf, startWorld, type WorldOptions } from '../support/worker.ts'

/** Waits shortened; their order kept. */
const times = { settleMs: 50, polls: 2, pollIntervalMs: 20 }
const notFoundErrors = ['Message not found']
const startDoubtingWorld = ({
  delivery = {},
  gateway = {},
  ...options
}: WorldOptions & { delivery?: object; gateway?: object } = {}) =>
  startWorld({
    ...options,
    settings: { gateway: { timeoutMs: 250, ...gateway }, delivery: { ...times, ...delivery } },
  })

describe('a command whose answer was lost', () => {
  test('is in doubt at once, and SENT when its status proves it', async () => {
    const world = await startDoubtingWorld()
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommand({ id: 1n, phone: silentPhone, correlationId: 'order-1' })])
    await world.finished(1)
    await world.quiet()
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'SENT'])
    const { commandTopic, commandOffset } = world.results()[0]!
    expect(finalOf(world, 1n)).toMatchObject({ attempts: 1, correlationId: 'order-1', commandTopic, commandOffset })
    expect(world.sandbox.executions(1)).toBe(1)
  })

  test('is SENT as soon as its callback comes, and the gateway is not asked', async () => {
    const world = await startDoubtingWorld({ delivery: { settleMs: 60_000 } })
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommandOf('viber', { id: 1n, delivery: 'AT_MOST_ONCE' })])
    await world.finished(1)
    await world.quiet()
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'SENT'])
    expect(finalOf(world, 1n)).toMatchObject({ attempts: 1, msgId: world.statuses()[0]!.msgId })
    expect(world.sandbox.stats().requests).toBe(1)
  })

  test('is not taken for sent because another account’s message has its id', async () => {
    const world = await startDoubtingWorld({
      sandbox: { keys: { default: 'sandbox-key', shop: 'shop-key' } },
      gateway: { accounts: { shop: { apiKey: 'shop-key' } } },
    })
    await world.send([buildCommand({ id: 1n, account: 'shop' })])
    await until(() => expect(world.statuses()).toHaveLength(1))
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n, delivery: 'AT_MOST_ONCE' })])
    await world.finished(2)
    expect(world.results().map(({ outcome }) => outcome)).toEqual(['SENT', 'IN_DOUBT', 'UNRESOLVED'])
  })

  test('is not taken for sent because of a callback that only claims to be about it', async () => {
    const world = await startDoubtingWorld({ delivery: { settleMs: 500 } })
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n, delivery: 'AT_MOST_ONCE' })])
    await until(() => expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now']))
    const address = accountHookUrl(world.receiver.url, tokensOf(world.settings)!, 'default')
    const body = JSON.stringify({ success: true, id: '1', status: 'DELIVERED' })
    const answer = await fetch(address, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(answer.status).toBe(200)
    await world.finished(1)
    expect(world.statuses()).toMatchObject([{ id: 1n, verified: false, state: 'DELIVERED' }])
    expect(finalOf(world, 1n).outcome).toBe('UNRESOLVED')
  })

  test('is sent again under its id when the gateway says that it never had it', async () => {
    const world = await startDoubtingWorld({ delivery: { notFoundErrors } })
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    await world.quiet()
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'SENT'])
    expect(finalOf(world, 1n)).toMatchObject({ attempts: 2 })
    expect(finalOf(world, 1n).msgId).not.toBeNull()
    expect(world.sandbox.executions(1)).toBe(1)
  })

  test('is sent again when everything that can be asked has been asked', async () => {
    const world = await startDoubtingWorld()
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    expect(finalOf(world, 1n)).toMatchObject({ outcome: 'SENT', attempts: 2 })
  })

  test('is never sent again under AT_MOST_ONCE: UNRESOLVED', async () => {
    const world = await startDoubtingWorld({ delivery: { notFoundErrors } })
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n, delivery: 'AT_MOST_ONCE' })])
    await world.finished(1)
    await world.quiet()
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'UNRESOLVED'])
    expect(finalOf(world, 1n)).toMatchObject({ errorCode: 'RESPONSE_LOST', attempts: 1 })
    expect(world.sandbox.executions(1)).toBe(0)
  })

  test('ends SENT when the second request is refused because the gateway has the id', async () => {
    const world = await startDoubtingWorld({ sandbox: { duplicates: 'refuse' }, delivery: { polls: 1 } })
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommandOf('call/otp', { id: 1n, delivery: 'AT_LEAST_ONCE' })])
    await world.finished(1)
    expect(finalOf(world, 1n)).toMatchObject({ outcome: 'SENT', attempts: 2 })
    expect(world.sandbox.executions(1)).toBe(1)
  })

  test('ends UNRESOLVED, with the reason, when the second request is refused: that says nothing about the first', async () => {
    const world = await startDoubtingWorld()
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n, phone: 380501234592 })])
    await world.finished(1)
    expect(finalOf(world, 1n)).toMatchObject({ outcome: 'UNRESOLVED', errorCode: 'INSUFFICIENT_FUNDS', attempts: 2 })
  })

  test('waits with its polls while the key is not accepted', async () => {
    const world = await startDoubtingWorld()
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommand({ id: 1n, phone: silentPhone })])
    await until(() => expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now']))
    world.sandbox.setKeys(['another'])
    await until(() => expect(world.worker.ready().reasons).toContain('account default pauses: denied'))
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now'])
    world.sandbox.setKeys(['sandbox-key'])
    await world.finished(1)
    expect(finalOf(world, 1n)).toMatchObject({ outcome: 'SENT', attempts: 1 })
  })
})

describe('a voice code or a look-up whose answer was lost', () => {
  test('cannot be asked for: UNRESOLVED without waiting', async () => {
    const world = await startDoubtingWorld({ delivery: { settleMs: 60_000 } })
    world.sandbox.faults.next('reset-after', 2)
    await world.send([buildCommandOf('call/otp', { id: 1n }), buildCommandOf('hlr', { id: 2n })])
    await world.finished(2)
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'UNRESOLVED'])
    expect(finalOf(world, 2n)).toMatchObject({ outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST' })
  })

  test('is asked again where its command allows it', async () => {
    const world = await startDoubtingWorld()
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommandOf('hlr', { id: 1n, delivery: 'AT_LEAST_ONCE' })])
    await world.finished(1)
    expect(finalOf(world, 1n)).toMatchObject({ outcome: 'SENT', attempts: 2, hlr: { phone: 380501234567 } })
  })
})

test('a command that is lost again and again is given up after delivery.attempts requests', async () => {
  const world = await startDoubtingWorld({ delivery: { attempts: 2 } })
  world.sandbox.faults.next('reset-before', 2)
  await world.send([buildCommandOf('hlr', { id: 1n, delivery: 'AT_LEAST_ONCE' })])
  await world.finished(1)
  await world.quiet()
  expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'UNRESOLVED'])
  expect(finalOf(world, 1n)).toMatchObject({ errorCode: 'ATTEMPTS_EXHAUSTED', attempts: 2 })
})

test('a doubt outlives the worker that had it', async () => {
  const world = await startDoubtingWorld({ delivery: { settleMs: 500 } })
  world.sandbox.faults.next('reset-after')
  await world.send([buildCommand({ id: 1n, phone: silentPhone })])
  await until(() => expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now']))
  await world.worker.stop()
  await world.startWorker()
  await world.finished(1)
  await world.quiet()
  expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'SENT'])
  expect(world.sandbox.executions(1)).toBe(1)
})
