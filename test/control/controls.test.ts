import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../src/config/index.ts'
import { type Change, endOf, keyOf } from '../../src/control/change.ts'
import { Controls } from '../../src/control/controls.ts'
import { LastChanges, mostBytesInForce, mostInForce } from '../../src/control/last-changes.ts'
import { pausableKinds, withdrawalKinds } from '../../src/vocabulary/control.ts'
import { anHour, ManualClock } from '../support/clock.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'

const settings = loadSettings({ env: {} })
const [urgent, bulk] = settings.topics.commands as [string, string]
const { maxAgeMs, horizonMs } = settings.commands

function setUp(overrides = {}) {
  const settings = loadSettings({ env: {}, overrides })
  const clock = new ManualClock(anHour)
  const controls = new Controls(settings, clock)
  const told: (Change | null)[] = []
  controls.onChange(change => told.push(change))
  return { clock, controls, told }
}

/** A command to which only its account and topic matter. */
const plain = { account: 'default', idText: '1', correlationId: null, tenant: null, campaign: null }
const names = ['a', 'b']
const kinds = fc.oneof(
  fc.record({ effect: fc.constant('paused' as const), kind: fc.constantFrom(...pausableKinds) }),
  fc.record({ effect: fc.constant('withdrawn' as const), kind: fc.constantFrom(...withdrawalKinds) }),
)
const change = fc
  .record({ scope: kinds, name: fc.constantFrom(...names, bulk), begins: fc.boolean(), in: fc.option(fc.nat(200_000)) })
  .map(({ scope, name, begins, in: ms }) => (now: number): Change => {
    const named = scope.kind === 'message' ? `a/${name}` : scope.kind === 'topic' ? bulk : name
    return { ...scope, name: named, begins, by: 'olena', at: now, until: ms === null ? null : now + ms, reason: null }
  })
const command = fc.record({
  ...{ account: fc.constantFrom(...names), idText: fc.constantFrom(...names) },
  ...{ correlationId: fc.option(fc.constantFrom(...names)), tenant: fc.option(fc.constantFrom(...names)) },
  campaign: fc.option(fc.constantFrom(...names)),
})

test('a command waits or is withdrawn exactly if a change in force says so, whatever began and ended before', async () => {
  const steps = fc.array(fc.oneof(change, fc.nat((maxAgeMs + horizonMs) / 2)), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(steps, fc.array(command, { minLength: 1, maxLength: 4 }), async (steps, commands) => {
      const { clock, controls } = setUp()
      const model = new Map<string, Change>()
      for (const step of steps) {
        if (typeof step === 'number') await clock.pass(step)
        else {
          const made = step(clock.now())
          controls.apply(made)
          if (made.begins) model.set(keyOf(made), made)
          else model.delete(keyOf(made))
        }
        controls.update()
        for (const [key, one] of model) if (endOf(one, settings.commands) <= clock.now()) model.delete(key)
        expect(new Set(controls.inForce.map(keyOf))).toEqual(new Set(model.keys()))
        const has = (key: string) => (model.has(key) ? key : null)
        for (const { account, idText, correlationId, tenant, campaign } of commands) {
          const sent = { account, idText, correlationId, tenant, campaign }
          const [byCampaign, byTenant] = [campaign && has(`campaign/${campaign}`), tenant && has(`tenant/${tenant}`)]
          const first = has(`account/${account}`) ?? byCampaign ?? byTenant
          expect(controls.stopping(sent, urgent)).toBe(first)
          expect(controls.stopping(sent, bulk)).toBe(has(`topic/${bulk}`) ?? first ?? has(`quiet_hours/${account}`))
          expect(controls.isSetAside(sent)).toBe(byCampaign !== null || byTenant !== null)
          const keys = [
            `message/${account}/${idText}`,
            ...(campaign ? [`campaign/${campaign}`] : []),
            ...(correlationId ? [`correlation_id/${correlationId}`] : []),
            ...(tenant ? [`tenant/${tenant}`] : []),
          ]
          const withdrawals = keys.flatMap(key => model.get(`withdrawn/${key}`) ?? [])
          for (const since of withdrawals.flatMap(({ until }) => (until === null ? clock.now() : [until, until + 1]))) {
            const withdrawn = withdrawals.find(({ until }) => until === null || since <= until)
            expect(controls.withdrawing(sent, since)).toEqual(withdrawn ?? null)
          }
          if (withdrawals.length === 0) expect(controls.withdrawing(sent, clock.now())).toBe(null)
        }
        for (const kind of pausableKinds)
          expect(controls.count('paused', kind)).toBe(
            [...model.values()].filter(one => one.effect === 'paused' && one.kind === kind).length,
          )
        for (const kind of withdrawalKinds)
          expect(controls.count('withdrawn', kind)).toBe(
            [...model.values()].filter(one => one.effect === 'withdrawn' && one.kind === kind).length,
          )
        expect(controls.hasPauses).toBe([...model.values()].some(({ effect }) => effect === 'paused'))
      }
      controls.close()
      expect(clock.pending).toBe(0)
    }),
  )
})

describe('listeners are told', () => {
  test('of each change once, and not of one that is known or has ended', () => {
    const { clock, controls, told } = setUp()
    const pause = buildPause({ at: clock.now() })
    const over = buildPause({ name: 'over', until: clock.now() })
    const changes = [
      pause,
      pause,
      { ...pause, reason: 'more' },
      { ...pause, by: 'petro' },
      { ...pause, until: clock.now() + 9_000 },
      over,
      buildResume({ name: 'other' }),
    ]
    for (const change of changes) controls.apply(change)
    expect(told).toEqual([pause, ...changes.slice(2, 5)])
    controls.apply({ ...pause, until: clock.now() })
    expect(told.at(-1)).toEqual({ ...pause, begins: false, until: clock.now() })
    expect(controls.inForce).toEqual([])
  })

  test('of a pause that expires, as soon as it does, and a withdrawal only after the commands that it names', async () => {
    const { clock, controls, told } = setUp()
    controls.update()
    const until = Math.ceil(clock.now() / 1000) * 1000 + 5_000
    controls.apply(buildWithdrawal({ until }))
    controls.apply(buildPause({ until }))
    const later = buildPause({ name: 'later', until: until + 1_000 })
    controls.apply(later)
    await clock.pass(until - clock.now() - 1)
    expect(told).toHaveLength(3)
    await clock.pass(1)
    expect(told.slice(3)).toEqual([buildPause({ until, begins: false })])
    await clock.pass(maxAgeMs + horizonMs - 1)
    expect(told.slice(4)).toEqual([{ ...later, begins: false }])
    await clock.pass(1)
    expect(told.at(-1)).toEqual(buildWithdrawal({ until, begins: false }))
    expect(clock.pending).toBe(0)
  })

  test('of what a reading of the topic brought and no longer contains, and in whose name', () => {
    const { clock, controls, told } = setUp()
    for (const name of ['kept', 'lost']) controls.apply(buildPause({ name }))
    const last = new LastChanges(1, ({ begins }) => !begins)
    for (const change of [buildPause({ name: 'kept' }), buildPause({ name: 'new' }), buildResume({ name: 'lost' })])
      last.add(change, 0)
    controls.replaceWith(last, 'a reading')
    expect(told.slice(2)).toEqual([
      buildResume({ name: 'lost', by: 'a reading', at: clock.now() }),
      buildPause({ name: 'new' }),
    ])
  })
})

test('quiet hours pause all but the most urgent topic of their account from the minute they begin to the minute they end', async () => {
  const accounts = { shop: { apiKey: 'key-of-shop', quietHours: '12:10-13:30 UTC' }, bank: { apiKey: 'key-of-bank' } }
  const { clock, controls, told } = setUp({ gateway: { accounts } })
  const at = (time: string) => Date.parse(`2026-03-14T${time}Z`)
  const quiet = { effect: 'paused', kind: 'quiet_hours', name: 'shop', by: 'gateway.quietHours' } as const
  const change = { ...quiet, at: at('12:10'), until: at('13:30'), reason: '12:10-13:30 UTC' }
  const commands = ['shop', 'bank'].map(account => ({ ...plain, account }))
  const stopped = () => commands.map(command => [urgent, bulk].map(topic => controls.stopping(command, topic)))
  controls.update()
  expect(told).toEqual([])
  await clock.pass(at('12:10') - clock.now() - 1)
  expect([told, controls.hasPauses]).toEqual([[], false])
  await clock.pass(1)
  expect([told, controls.hasPauses]).toEqual([[{ ...change, begins: true }], true])
  expect(stopped()).toEqual([
    [null, 'quiet_hours/shop'],
    [null, null],
  ])
  await clock.pass(at('13:30') - clock.now() - 1)
  controls.replaceWith(new LastChanges(1, () => false))
  expect(told).toHaveLength(1)
  await clock.pass(1)
  expect(told.slice(1)).toEqual([{ ...change, begins: false }])
  expect(stopped().flat()).toEqual([null, null, null, null])
  clock.step(-3_600_000)
  await clock.pass(60_000)
  expect(told.slice(2)).toEqual([{ ...change, begins: true }])
  controls.close()
  expect(clock.pending).toBe(0)
})

test('the used share is that of the number or of the memory, whichever is larger, and whole when something has no room', () => {
  const { controls, told } = setUp()
  expect([controls.used, controls.overfull, controls.hasPauses]).toEqual([0, null, false])
  controls.apply(buildPause())
  expect(controls.used).toBe(1 / mostInForce)
  const name = 'x'.repeat(1_000)
  controls.apply(buildWithdrawal({ name }))
  const bytes = 2 * 300 + 4 * ('bulk'.length + 1_000) + 2 * (2 * 'olena'.length + 'wrong price'.length)
  expect(controls.used).toBe(bytes / mostBytesInForce)
  controls.apply(buildWithdrawal({ name, begins: false }))
  expect(controls.used).toBe(1 / mostInForce)
  const last = new LastChanges(1, ({ begins }) => !begins)
  for (let i = 0; i <= mostInForce; i++) last.add(buildWithdrawal({ kind: 'message', name: `default/${i}` }), 0)
  controls.replaceWith(last)
  expect([controls.used, controls.hasPauses, told.at(-1)]).toEqual([1, true, null])
  expect(controls.overfull).toContain(
    'nothing is sent: there are more than 100000 pauses and withdrawals, or 64 MiB of them',
  )
  controls.replaceWith(new LastChanges(1, () => false))
  expect([controls.used, controls.overfull, told.at(-1)]).toEqual([0, null, null])
})
