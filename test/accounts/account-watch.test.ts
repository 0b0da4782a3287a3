import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { accountsOf } from '../../src/accounts/account.ts'
import { AccountWatch } from '../../src/accounts/account-watch.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { parseJson } from '../../src/protocol/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { answered, itemsAnswer, refusal } from '../support/answers.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildSettings } from '../support/settings.ts'

const balance = itemsAnswer({ success: true, data: { amount: 5, currency: 'UAH' } })
const lost: Answer = { kind: 'lost', cause: 'reset', message: 'read ECONNRESET' }
const unreachable: Answer = { kind: 'not_sent', cause: 'unreachable', message: 'connect ECONNREFUSED' }

/** Watches the accounts of a scripted gateway; an account's key is its name. */
function startWatch(answerTo: (key: string, asked: number) => Answer, names = ['shop'], intervalMs = 0, rate?: number) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const settings = buildSettings({
    gateway: { accounts: Object.fromEntries(names.map(name => [name, { apiKey: name, ...(rate && { rate }) }])) },
  })
  const options = { clock, telemetry, random: () => 1 }
  const accounts = accountsOf(settings, options)
  accounts.delete('default')
  const asked: { key: string; at: number }[] = []
  const connection = {
    async post(body: string): Promise<Answer> {
      const { auth: key } = parseJson(body) as { auth: string }
      asked.push({ key, at: clock.monotonic() })
      return answerTo(key, asked.filter(one => one.key === key).length)
    },
    distrust: () => {},
    close: async () => {},
  }
  const gateway = { url: 'https://user:word@gateway.example/base', errorTexts: settings.gateway.errorTexts }
  const watch = new AccountWatch({ ...options, gateway, connection, accounts, intervalMs })
  onTestFinished(() => watch.stop())
  let isProved = false
  watch.proved.then(
    () => {
      isProved = true
    },
    () => {},
  )
  return { clock, telemetry, accounts, watch, asked, isProved: () => isProved }
}

describe('a gateway is proved', () => {
  test.each([
    ['a balance', balance],
    ['a balance in a shape of its own', itemsAnswer({ success: true, data: 'much' })],
    ['a refused operation', itemsAnswer({ success: false, error: 'Operator not supported' })],
    ['an operation refused with an unknown text', itemsAnswer({ success: false, error: 'we have no balances' })],
    ['an envelope refused for a known reason', refusal('Not enough money')],
  ])('by %s', async (_, answer) => {
    const { clock, isProved, watch } = startWatch(() => answer)
    await clock.pass(0)
    expect(isProved()).toBe(true)
    expect(watch.reasons()).toEqual([])
  })

  test.each([
    ['a refused key', refusal('Access denied'), 'Access denied; put its key into gateway.accounts.shop.apiKey'],
    ['an address that is not allowed', refusal('IP_DENIED'), 'IP_DENIED; put its key into'],
    ['an envelope refused with an unknown text', refusal('We are closed'), 'refused with an unknown text'],
    ['throttling', refusal('Too many requests'), 'Too many requests'],
    ['HTTP 404', answered('not here', { status: 404 }), 'HTTP 404'],
    ['HTTP 413', answered('', { status: 413 }), 'HTTP 413'],
    ['HTTP 502', answered('<html>', { status: 502 }), 'HTTP 502'],
    ['an error with the body of the gateway', answered({ success: true, data: [] }, { status: 404 }), 'HTTP 404'],
    ['the page of somebody else', answered('<html>welcome</html>'), 'not an envelope'],
    ['the JSON of somebody else', answered({ status: 'ok' }), 'not an envelope'],
    ['an answer without the operation', itemsAnswer(), '0 items for 1 operations'],
    ['a lost answer', lost, 'ECONNRESET'],
    ['no connection', unreachable, 'ECONNREFUSED'],
  ])('not by %s, and the reason says so', async (_, answer, told) => {
    const { clock, isProved, watch } = startWatch(() => answer)
    await clock.pass(100_000)
    expect(isProved()).toBe(false)
    expect(watch.reasons()).toEqual([expect.stringContaining(told)])
    expect(watch.reasons()[0]).toMatch(
      /^holds no partition until the gateway at https:\/\/gateway\.example \(gateway\.url, BUSGATE_GATEWAY_URL\) accepts a key: account shop: /,
    )
    expect(watch.reasons()[0]).not.toMatch(/user|word/)
  })

  test('by whatever answers, exactly if some account has an accepted key', async () => {
    const bodies = fc.oneof(
      fc.json(),
      fc.string(),
      fc.constantFrom('{"success":true}', '{"success":true,"data":[null]}'),
    )
    const proving: Answer[] = [balance, itemsAnswer({ success: false, error: 'x' })]
    const others = fc.oneof(
      fc
        .record({ body: bodies, status: fc.integer({ min: 201, max: 599 }) })
        .map(({ body, status }) => answered(body, { status })),
      bodies.map(body => answered(body)),
      fc.string().map(text => refusal(`?${text}`)),
      fc.constantFrom(lost, unreachable, refusal('Access denied'), refusal('API_DISABLE')),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            failures: fc.array(others, { maxLength: 3 }),
            end: fc.option(fc.constantFrom(...proving)),
            last: others,
          }),
          {
            minLength: 1,
            maxLength: 4,
          },
        ),
        async scripts => {
          const names = scripts.map((_, i) => `a${i}`)
          const { clock, watch, isProved } = startWatch((key, asked) => {
            const { failures, end, last } = scripts[Number(key.slice(1))]!
            return failures[asked - 1] ?? end ?? last
          }, names)
          await clock.pass(60_000)
          await settled()
          watch.stop()
          expect(isProved()).toBe(scripts.some(({ end }) => end !== null))
        },
      ),
      { numRuns: 200 },
    )
  })

  test('by one account of several, while another one does not answer', async () => {
    const { clock, isProved } = startWatch(
      key => (key === 'slow' ? new Promise<Answer>(() => {}) : balance) as Answer,
      ['slow', 'shop'],
    )
    await clock.pass(0)
    expect(isProved()).toBe(true)
  })
})

test('until the gateway is proved, each account is asked with a growing back-off, without a share of its rate', async () => {
  const { clock, asked } = startWatch(() => unreachable, ['shop'], 0, 5)
  await clock.pass(60_000)
  const waits = asked.map(({ at }, i) => at - (asked[i - 1]?.at ?? 0))
  expect(waits).toEqual([0, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
})

test('the log says once a minute what a process waits for, and when the gateway is proved', async () => {
  let answer: Answer = unreachable
  const { clock, telemetry } = startWatch(() => answer)
  const told: string[] = []
  telemetry.on('gateway.unproved', ({ error }) => told.push(error))
  telemetry.on('gateway.proved', ({ account }) => told.push(account))
  await clock.pass(110_000)
  expect(told).toEqual(Array(2).fill(expect.stringContaining('account shop: connect ECONNREFUSED')))
  answer = balance
  await clock.pass(20_000)
  expect(told.slice(2)).toEqual(['shop'])
})

describe('once the gateway is proved,', () => {
  test.each([
    ['a balance', balance],
    ['a refusal', itemsAnswer({ success: false, error: 'we have no balances' })],
    ['the page of a proxy', answered('<html>', { status: 502 })],
  ])('an account is not asked again after %s if the interval is 0', async (_, answer) => {
    const { clock, asked, watch } = startWatch(key => (key === 'shop' ? balance : answer), ['shop', 'other'])
    await clock.pass(600_000)
    expect(asked.length).toBe(2)
    expect(watch.reasons()).toEqual([])
  })

  test('an account of which nothing was answered is asked until it is, also if the interval is 0', async () => {
    let answer: Answer = unreachable
    const { clock, asked, watch } = startWatch(key => (key === 'shop' ? balance : answer), ['shop', 'other'])
    await clock.pass(600_000)
    expect(watch.reasons()).toEqual([])
    expect(watch.warnings()).toEqual(['cannot read the balance of account other: connect ECONNREFUSED'])
    answer = balance
    await clock.pass(11_000)
    expect(watch.warnings()).toEqual([])
    const { length } = asked
    await clock.pass(600_000)
    expect(asked).toHaveLength(length)
  })

  test('an account with a refused key is a warning, and is asked at each end of its pause until the key is accepted', async () => {
    let isMended = false
    const { clock, watch, accounts, asked } = startWatch(
      key => (key === 'shop' || isMended ? balance : refusal('Access denied')),
      ['shop', 'expired'],
    )
    await clock.pass(300_000)
    expect(watch.reasons()).toEqual([])
    expect(watch.warnings()).toEqual([
      expect.stringMatching(/^account expired has been held back since .*, because the gateway refuses its key/),
    ])
    expect(accounts.get('expired')!.keyRefused).toBe(true)
    const lastAsked = asked.filter(({ key }) => key === 'expired').map(({ at }) => at / 1000)
    expect(lastAsked.slice(-5)).toEqual([160, 190, 220, 250, 280])
    isMended = true
    await clock.pass(60_000)
    expect(watch.warnings()).toEqual([])
    expect(accounts.get('expired')!).toMatchObject({ keyRefused: false, heldBack: null })
  })

  test('nothing warns of a balance that could not be read while the key was refused, once a command passes', async () => {
    let isMended = false
    const { clock, watch, accounts, asked } = startWatch(
      key => (key === 'shop' || isMended ? balance : refusal('Access denied')),
      ['shop', 'expired'],
      300_000,
    )
    await clock.pass(10_000)
    const expired = accounts.get('expired')!
    isMended = true
    await clock.pass(expired.heldBack!.probeAt! - clock.now())
    expired.observe(expired.permit(1), { outcome: 'answered', items: [] })
    expect([expired.heldBack, watch.warnings()]).toEqual([null, []])
    const before = asked.length
    await clock.pass(15_000)
    expect(asked.length, 'its balance is read soon').toBeGreaterThan(before)
    expect(watch.warnings()).toEqual([])
  })

  test('refused keys of all accounts are a reason until one is accepted; an outage is none', async () => {
    let answers = (_key: string): Answer => balance
    const { clock, watch } = startWatch(key => answers(key), ['shop', 'other'], 20_000)
    answers = key => (key === 'shop' ? refusal('Access denied') : unreachable)
    await clock.pass(60_000)
    expect(watch.reasons()).toEqual([])
    answers = () => refusal('Access denied')
    await clock.pass(60_000)
    expect(watch.reasons()).toEqual(['the gateway refuses the keys of all accounts'])
    answers = () => unreachable
    await clock.pass(60_000)
    expect(watch.reasons()).toEqual(['the gateway refuses the keys of all accounts'])
    answers = key => (key === 'other' ? balance : refusal('Access denied'))
    await clock.pass(60_000)
    expect(watch.reasons()).toEqual([])
  })
})
