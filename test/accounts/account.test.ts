import { describe, expect, test } from 'vitest'
import { Account } from '../../src/accounts/account.ts'
import { classify } from '../../src/gateway/classify.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { answered, itemsAnswer, refusal, refusedItem, sentItem } from '../support/answers.ts'
import { ManualClock } from '../support/clock.ts'

type Heard = 'account.paused' | 'account.resumed' | 'gateway.retry' | 'rate.waited'

function buildAccount(rate?: number) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const heard: [Heard, object][] = []
  const hear = (name: Heard) => telemetry.on(name, (event: Events[Heard]) => heard.push([name, event]))
  for (const name of ['account.paused', 'account.resumed', 'gateway.retry', 'rate.waited'] as const) hear(name)
  const account = new Account({ name: 'shop', apiKey: () => 'key', rate, clock, random: () => 1, telemetry })
  account.limiter?.setShare(1, -10_000)
  /** A request of two operations, and what came back. */
  const request = (...answer: Parameters<typeof classify>[1][]) => {
    for (const one of answer) {
      const permit = account.permit(2)
      if (one.kind !== 'not_sent') account.begun(permit)
      account.observe(permit, classify(['1', '2'], one))
    }
  }
  return { account, clock, heard, request }
}

const throttled = (id: number) => refusedItem(id, 'Too many requests')
const reset = { kind: 'lost', cause: 'reset', message: 'ECONNRESET' } as const
const unreachable = { kind: 'not_sent', cause: 'unreachable', message: 'ECONNREFUSED' } as const
const withheld = { kind: 'not_sent', cause: 'withheld', message: 'the partition was lost' } as const

describe('an account', () => {
  test.each([
    ['the key is not accepted', refusal('Access denied'), 'denied'],
    ['it was too fast', answered('', { status: 429 }), 'throttled'],
    ['the gateway cannot be reached', unreachable, 'unreachable'],
  ] as const)('pauses when %s, and tells so', (_, answer, reason) => {
    const { account, heard, request } = buildAccount()
    request(answer)
    expect(account.wait()).toBe(500)
    expect(heard).toEqual([
      ['gateway.retry', { reason, count: 2 }],
      ['account.paused', { account: 'shop', reason, retryInMs: 500, error: expect.stringMatching(/./) }],
    ])
  })

  test.each<[string, Answer, number]>([
    ['every operation was sent', itemsAnswer(sentItem(1), sentItem(2)), 3],
    ['one was refused', itemsAnswer(sentItem(1), refusedItem(2)), 3],
    ['the envelope was refused', refusal('Not enough money'), 3],
    ['items came in another order', itemsAnswer(sentItem(2), sentItem(1)), 3],
    ['the last check withheld it', withheld, 3],
    ['nobody can tell', reset, 2],
  ])('goes on when %s, several times in a row', (_, answer, times) => {
    const { account, heard, request } = buildAccount()
    request(...Array<Answer>(times).fill(answer))
    expect([account.wait(), account.room(), heard]).toEqual([0, Number.POSITIVE_INFINITY, []])
  })

  test('pauses after three requests in a row of which nobody can tell, probes with one operation, and resumes', async () => {
    const { account, clock, heard, request } = buildAccount()
    request(reset, reset, itemsAnswer(sentItem(1), sentItem(2)), reset, reset, reset)
    expect(account.wait()).toBe(500)
    await clock.pass(500)
    expect([account.wait(), account.room()]).toEqual([0, 1])
    request(itemsAnswer(sentItem(1), sentItem(2)))
    expect([account.wait(), account.room()]).toEqual([0, Number.POSITIVE_INFINITY])
    expect(heard.map(([name]) => name)).toEqual(['account.paused', 'account.resumed'])
  })
})

describe('operations above the rate', () => {
  test('pause the account while the others are sent, for a short while each time', async () => {
    const { account, clock } = buildAccount()
    for (let i = 0; i < 2; i++) {
      const permit = account.permit(3)
      account.begun(permit)
      account.observe(permit, classify(['1', '2', '3'], itemsAnswer(sentItem(1), throttled(2), throttled(3))))
      expect(account.wait()).toBeGreaterThanOrEqual(500)
      expect(account.wait()).toBeLessThanOrEqual(1_020) // one operation a second is what is left at least
      await clock.pass(1_020)
    }
  })

  test('do not pause it where there is but one', () => {
    const { account, heard, request } = buildAccount()
    request(itemsAnswer(sentItem(1), throttled(2)))
    expect(account.wait()).toBe(0)
    expect(heard.map(([name]) => name)).toEqual(['gateway.retry'])
  })

  test('pause it for longer each time when none is sent', async () => {
    const { account, clock, heard, request } = buildAccount()
    for (const pause of [500, 1_000, 2_000, 4_000]) {
      request(itemsAnswer(throttled(1), throttled(2)))
      expect(account.wait()).toBe(pause)
      await clock.pass(pause)
    }
    expect(heard).toContainEqual(['gateway.retry', { reason: 'throttled', count: 2 }])
    expect(heard.map(([name]) => name)).not.toContain('account.resumed')
  })
})

describe('the rate', () => {
  test('is waited for, and that is told with the next request that leaves', async () => {
    const { account, clock, heard, request } = buildAccount(2)
    request(itemsAnswer(sentItem(1), sentItem(2)))
    expect([account.wait(), account.room()]).toEqual([1_020, 0])
    await clock.pass(1_020)
    expect([account.wait(), account.room()]).toEqual([0, 2])
    account.permit(1)
    expect(heard).toEqual([['rate.waited', { account: 'shop', seconds: 1.02 }]])
  })

  test.each([
    ['could not be sent', unreachable],
    ['was withheld', withheld],
  ])('is not used by what %s', (_, answer) => {
    const { account, request } = buildAccount(2)
    request(answer)
    expect(account.limiter?.available(0)).toBe(2)
  })

  test('is not used by a request whose intent was not written', () => {
    const { account } = buildAccount(2)
    account.withdraw(account.permit(2))
    expect([account.wait(), account.room()]).toEqual([0, 2])
  })

  test('is used by what may have been sent', () => {
    const { account, request } = buildAccount(2)
    request(reset)
    expect(account.room()).toBe(0)
  })
})
