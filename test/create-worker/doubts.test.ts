import { describe, expect, test } from 'vitest'
import { accountHookUrl } from '../../src/callbacks/hook-url.ts'
import { tokensOf } from '../../src/callbacks/role.ts'
import type { SendCommand, SendResult } from '../../src/records/generated.ts'
import type { FaultName } from '../../src/sandbox/index.ts'
import { until } from '../support/bus.ts'
import { buildCommand, buildCommandOf, silentPhone } from '../support/commands.ts'
import { allEventsOf } from '../support/events.ts'
import { finalOf, outcomesOf, startWorld, type WorldOptions } from '../support/worker.ts'

type DoubtOptions = Omit<WorldOptions, 'settings'> & { doubts?: object; accounts?: object; notFoundTexts?: string[] }

/** Shorter waits, in the same order. */
const times = { waitMs: 50, polls: 2 }
const startDoubtingWorld = ({ doubts, accounts = {}, notFoundTexts, ...options }: DoubtOptions = {}) =>
  startWorld({
    ...options,
    settings: { gateway: { timeoutMs: 250, accounts, notFoundTexts }, doubts: { ...times, ...doubts } },
  })

const sent = (attempts: number): Partial<SendResult> => ({ outcome: 'SENT', attempts })
const unresolved = (attempts: number, errorCode = 'RESPONSE_LOST'): Partial<SendResult> => ({
  outcome: 'UNRESOLVED',
  attempts,
  errorCode,
})
const saysNotFound = { notFoundTexts: ['Message not found'] }
const never = { doubts: { waitMs: 60_000 } }
const [atMostOnce, atLeastOnce] = [{ delivery: 'AT_MOST_ONCE' }, { delivery: 'AT_LEAST_ONCE' }] as const
const silent = { phone: silentPhone, correlationId: 'order-1' }
/** Makes a command too large for the doubts topic. */
const large = { extra: { note: JSON.stringify('x'.repeat(30_000)) } }
const small = { maxMessageBytes: { doubts: 20_000 } }

describe('a command whose answer was lost is in doubt at once, and', () => {
  test.each<[what: string, FaultName[], SendCommand, end: Partial<SendResult>, executions: number, DoubtOptions?]>([
    ['is SENT if its status proves it', ['reset-after'], buildCommand(silent), sent(1), 1],
    ['is sent again after all polls', ['reset-before'], buildCommand(), sent(2), 1],
    ['is sent again if the gateway never had it', ['reset-before'], buildCommand(), sent(2), 1, saysNotFound],
    [
      'is not sent again under AT_MOST_ONCE',
      ['reset-before'],
      buildCommand(atMostOnce),
      unresolved(1),
      0,
      saysNotFound,
    ],
    [
      'is SENT if the second POST is refused because the gateway knows the id',
      ['reset-after'],
      buildCommandOf('call/otp', atLeastOnce),
      sent(2),
      1,
      { sandbox: { open: { duplicates: 'refuse' } } },
    ],
    [
      'is UNRESOLVED if the second POST is refused, which says nothing about the first',
      ['reset-before'],
      buildCommand({ phone: 380501234592 }),
      unresolved(2, 'INSUFFICIENT_FUNDS'),
      0,
    ],
    [
      'is UNRESOLVED if it is a call/otp, which cannot be polled',
      ['reset-after'],
      buildCommandOf('call/otp'),
      unresolved(1),
      1,
      never,
    ],
    [
      'is UNRESOLVED if it is an hlr, which cannot be polled',
      ['reset-after'],
      buildCommandOf('hlr'),
      unresolved(1),
      1,
      never,
    ],
    [
      'is sent again if it is an hlr under AT_LEAST_ONCE',
      ['reset-after'],
      buildCommandOf('hlr', atLeastOnce),
      sent(2),
      2,
    ],
    [
      'is given up after doubts.maxAttempts POSTs',
      ['reset-before', 'reset-before'],
      buildCommandOf('hlr', atLeastOnce),
      unresolved(2, 'ATTEMPTS_EXHAUSTED'),
      0,
      { doubts: { maxAttempts: 2 } },
    ],
    [
      'is SENT by its status even if it is too large for the doubts topic',
      ['reset-after'],
      buildCommand({ ...silent, ...large }),
      sent(1),
      1,
      small,
    ],
    [
      'is never sent again if it is too large for the doubts topic',
      ['reset-before'],
      buildCommand({ ...atLeastOnce, ...large }),
      unresolved(1),
      0,
      small,
    ],
    [
      'is UNRESOLVED with the reason if it is too large for the doubts topic and has no status',
      ['reset-after'],
      buildCommandOf('call/otp', { ...atLeastOnce, correlationId: 'order-1' }, { comment: 'x'.repeat(30_000) }),
      {
        ...unresolved(1),
        type: 'call/otp',
        account: 'default',
        error: expect.stringMatching(/could not be sent again: a command of 30\d{3} bytes is too large/),
      },
      1,
      small,
    ],
  ])('%s', async (_, faults, command, end, executions, options) => {
    const world = await startDoubtingWorld(options)
    for (const fault of faults) world.sandbox.faults.next(fault)
    await world.send([command])
    await world.finished(1)
    await world.quiet()
    expect(outcomesOf(world, command.id)).toEqual(['IN_DOUBT for now', end.outcome])
    const { correlationId } = command
    expect(finalOf(world, command.id)).toMatchObject({ commandOffset: 0, correlationId, ...end })
    expect(world.sandbox.executions(command.id)).toBe(executions)
    expect(world.deadLetters()).toEqual([])
  })

  test.each([
    ['', buildCommandOf('viber', { id: 1n, ...atMostOnce }), {}],
    [', even if it is too large for the doubts topic', buildCommand({ id: 1n, ...large }), small],
  ])('is SENT as soon as its callback arrives, without a poll%s', async (_, command, options) => {
    const world = await startDoubtingWorld({ ...never, ...options })
    world.sandbox.faults.next('reset-after')
    await world.send([command])
    await world.finished(1)
    await world.quiet()
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'SENT'])
    expect(finalOf(world, 1n)).toMatchObject({ attempts: 1, msgId: world.statuses()[0]!.msgId })
    expect(world.sandbox.stats().requests).toBe(1)
  })

  test("is not SENT because another account's message has its id", async () => {
    const world = await startDoubtingWorld({
      sandbox: { keys: { default: 'sandbox-key', shop: 'shop-key' } },
      accounts: { shop: { apiKey: 'shop-key' } },
    })
    await world.send([buildCommand({ id: 1n, account: 'shop' })])
    await until(() => expect(world.statuses()).toHaveLength(1))
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n, ...atMostOnce })])
    await world.finished(2)
    expect(world.results().map(({ outcome }) => outcome)).toEqual(['SENT', 'IN_DOUBT', 'UNRESOLVED'])
  })

  test('is not SENT because of an unverified callback', async () => {
    const world = await startDoubtingWorld({ doubts: { waitMs: 500 } })
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n, ...atMostOnce })])
    await until(() => expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now']))
    const address = accountHookUrl(world.receiver.url, tokensOf(world.settings)!, 'default')
    const body = JSON.stringify({ success: true, id: '1', status: 'DELIVERED' })
    const answer = await fetch(address, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(answer.status).toBe(200)
    await world.finished(1)
    expect(world.statuses()).toMatchObject([{ id: 1n, verified: false, state: 'DELIVERED' }])
    expect(finalOf(world, 1n).outcome).toBe('UNRESOLVED')
  })

  test('waits while the API key is refused, and its polls hold nothing back', async () => {
    const world = await startDoubtingWorld()
    const polls: string[] = []
    allEventsOf(world.worker).on('status.polled', ({ result }) => polls.push(result))
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommand({ id: 1n, phone: silentPhone })])
    await until(() => expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now']))
    world.sandbox.setKeys(['another'])
    await until(() => expect(polls.length).toBeGreaterThan(2))
    expect(new Set(polls)).toEqual(new Set(['unanswered']))
    expect(world.worker.ready()).toMatchObject({ ready: true, reasons: [] })
    expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now'])
    world.sandbox.setKeys(['sandbox-key'])
    await world.finished(1)
    expect(finalOf(world, 1n)).toMatchObject(sent(1))
  })
})
