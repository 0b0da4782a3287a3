import { expect, test } from 'vitest'
import { writeChange } from '../../src/control/change.ts'
import { countOpenDoubts } from '../../src/inspect/progress.ts'
import type { Now } from '../../src/ui/now.ts'
import { publishAll, until } from '../support/bus.ts'
import { buildCommand, silentPhone } from '../support/commands.ts'
import { buildPause, buildResume } from '../support/control.ts'
import { eventsAt, historyAt, startPage, waitForState } from '../support/ui.ts'
import { startWorld } from '../support/worker.ts'

const few = [1n, 2n, 3n].map(id => buildCommand({ id }))
/** Refused with "Not enough money", see docs/sandbox.md. */
const refused = buildCommand({ id: 4n, phone: 380501234592 })
const smsOf = ({ funnel }: Now) => funnel.find(({ type }) => type === 'sms')

test('the page counts commands, results and verdicts as they are written', async () => {
  const world = await startWorld()
  await world.send([buildCommand({ id: 99n })])
  await world.finished(1)
  const { url } = await startPage(world)
  await waitForState(url, ({ partitions }) => partitions.length > 0) // now it follows the topics
  await world.send([...few, refused])
  const now = await waitForState(
    url,
    one => smsOf(one)?.delivered === 3 && smsOf(one)?.sent === 3 && one.failures.length > 0,
  )
  expect(smsOf(now)).toEqual({
    ...{ type: 'sms', commands: 4, sent: 3, notSent: 1, inDoubt: 0, unresolved: 0 },
    ...{ delivered: 3, notDelivered: 0 },
  })
  expect(now.failures).toMatchObject([{ outcome: 'REJECTED', count: 1, remedy: expect.any(String) }])
  expect(now.lanes.map(({ commands }) => commands)).toEqual([0, 4])
  const done = await waitForState(url, ({ partitions }) => partitions.every(({ lag }) => lag === 0))
  expect(done.partitions).toHaveLength(2)
})

test('the page counts a message once that is delivered and then read', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  await waitForState(url, ({ partitions }) => partitions.length > 0)
  await world.send([buildCommand({ id: 5n, phone: 380501234594 }), buildCommand({ id: 6n })])
  await until(() => expect(new Set(world.statuses().map(({ id }) => id)).size).toBe(2))
  const verdicts = (one: Now) => (smsOf(one)?.delivered ?? 0) + (smsOf(one)?.notDelivered ?? 0)
  const now = await waitForState(url, one => smsOf(one)?.sent === 2 && verdicts(one) >= 2)
  expect(verdicts(now)).toBe(2)
})

test('the page counts a message once that waited for its time', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  await waitForState(url, ({ partitions }) => partitions.length > 0)
  await world.send([buildCommand({ id: 5n, notBefore: Date.now() + 1_000 })])
  const now = await waitForState(url, one => smsOf(one)?.sent === 1)
  expect(smsOf(now)?.commands).toBe(1)
})

test('the page shows a doubt with its age and what it waits for, until it is resolved', async () => {
  const world = await startWorld({
    settings: {
      gateway: { timeoutMs: 2000 },
      doubts: { waitMs: 4000 },
      kafka: { sessionTimeoutMs: 6000 },
    },
  })
  const { url } = await startPage(world)
  const openDoubts = () => countOpenDoubts(world.bus, world.settings)
  world.sandbox.faults.next('reset-after')
  await world.send([buildCommand({ id: 7n, phone: silentPhone })])
  const now = await waitForState(url, ({ doubts }) => doubts.open === 1)
  expect(now.doubts.oldest).toMatchObject([
    {
      id: '7',
      account: 'default',
      cause: 'reset',
      attempts: 1,
      waitsFor: expect.stringMatching(/^its callback; the gateway is polled in \d s$/),
    },
  ])
  expect(now.at - now.doubts.oldest[0]!.postedAt!).toBeLessThan(60_000)
  expect(await openDoubts(), 'as busgate status counts').toBe(1)
  await waitForState(url, ({ doubts }) => doubts.open === 0)
  expect(await openDoubts()).toBe(0)
})

test('the page shows an account that is held back in the words of /readyz, until its key is accepted', async () => {
  const keys = { default: 'sandbox-key', shop: 'shop-key' }
  const settings = { gateway: { accounts: { shop: { apiKey: 'shop-key' } } } }
  const world = await startWorld({ settings, sandbox: { keys } })
  const { url } = await startPage(world)
  world.sandbox.setKeys({ ...keys, shop: 'another-key' })
  await world.send([buildCommand({ account: 'shop' })])
  const { holds, processes } = await waitForState(url, now => now.holds?.[0]?.account === 'shop')
  expect(holds).toMatchObject([{ waiting: 1, mend: 'The operator must replace the key.' }])
  const told = holds![0]!.text
  expect(world.worker.ready().warnings[0]!.slice(1)).toMatch(told.slice(1))
  expect(processes).toMatchObject([{ roles: ['worker', 'callbacks'], partitions: 3, silentSince: null }])
  world.sandbox.setKeys(keys)
  await waitForState(url, now => now.holds?.length === 0)
})

test('the page lists the latest messages with their outcome, also those from before it was started', async () => {
  const world = await startWorld()
  await world.send([refused])
  await world.finished(1)
  const { url } = await startPage(world)
  await waitForState(url, ({ latest }) => latest.length === 1)
  await world.send(few)
  const { latest } = await waitForState(
    url,
    one => one.latest.filter(({ state }) => state === 'DELIVERED').length === 3,
  )
  const { id, account, type } = { id: '4', account: 'default', type: 'sms' }
  expect(latest.at(-1)).toEqual({ id, account, type, state: 'REJECTED', time: expect.any(Number) })
})

test('the page shows a pause until it is resumed', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  const { control } = world.settings.topics
  const pause = { kind: 'account', name: 'default', by: 'olena', reason: 'the invoice' } as const
  await publishAll(world.bus, [writeChange(control, buildPause(pause))])
  const { pauses } = await waitForState(url, now => now.pauses.length > 0)
  expect(pauses).toMatchObject([{ what: 'account default', why: expect.stringMatching(/by olena .*the invoice/) }])
  await publishAll(world.bus, [writeChange(control, buildResume(pause))])
  await waitForState(url, now => now.pauses.length === 0)
})

test('the page shows a withdrawal until it ends', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  await world.producer.withdraw({ campaign: 'spring', reason: 'wrong price', by: 'olena' })
  const { withdrawals, pauses } = await waitForState(url, now => now.withdrawals.length > 0)
  expect(withdrawals).toMatchObject([{ what: 'campaign spring', why: expect.stringMatching(/by olena .*wrong price/) }])
  expect(pauses).toEqual([])
})

test('the page groups dead letters by cause, including earlier ones', async () => {
  const world = await startWorld()
  await world.produceRaw(null, { key: Buffer.from('k') })
  await world.produceRaw(Buffer.from('not Avro'))
  await until(() => expect(world.deadLetters()).toHaveLength(2))
  const { url } = await startPage(world)
  await world.produceRaw(Buffer.from('not Avro either'))
  const { deadLetters } = await waitForState(url, now => now.deadLetters.total === 3)
  expect(deadLetters.causes.map(({ code, count }) => [code, count])).toEqual([
    ['NOT_CONFLUENT', 2],
    ['NO_VALUE', 1],
  ])
})

test('the page says how many records it cannot decode, and counts the others', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  await waitForState(url, ({ partitions }) => partitions.length > 0)
  await world.produceRaw(Buffer.from('not Avro'))
  await world.produceRaw(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]))
  await world.send(few)
  const { undecodable } = await waitForState(url, now => smsOf(now)?.sent === 3 && now.undecodable.length > 0)
  expect(undecodable).toEqual([expect.stringMatching(/^2 records of \S+ cannot be decoded, the first at \S+@\d: /)])
})

test('the page reports a missing topic, and shows the rest', async () => {
  const world = await startWorld()
  const settings = { ...world.settings, topics: { ...world.settings.topics, doubts: 'not-there' } }
  const { url } = await startPage({ ...world, settings })
  const now = await waitForState(url, ({ trouble }) => trouble !== null)
  expect(now.trouble).toContain('there is no topic not-there: create it with busgate topics create')
  await waitForState(url, ({ partitions }) => partitions.length > 0)
})

test('the page shows no phone and no text', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  const phone = 380671234592
  await world.send([buildCommand({ id: 8n, phone })])
  await world.produceRaw(Buffer.from('a phone 380671234567'))
  const now = await waitForState(
    url,
    one => one.deadLetters.total === 1 && one.failures.length + (smsOf(one)?.sent ?? 0) > 0,
  )
  expect(JSON.stringify(now)).not.toMatch(/38067123/)
})

test('a page that is opened later shows the history of the last minutes', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  await waitForState(url, ({ partitions }) => partitions.length > 0)
  await world.send(few)
  await waitForState(url, now => smsOf(now)?.sent === 3)
  const bulk = world.settings.topics.commands.at(-1)!
  await until(async () => {
    const { series } = await historyAt(url)
    expect(series[bulk]!.some(point => point !== null && point > 0)).toBe(true)
    expect(series.results).toHaveLength(series[bulk]!.length)
  })
})

test('an open page is updated', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  const seen = new Set<number>()
  for await (const { event, data } of eventsAt(url, AbortSignal.timeout(30_000))) {
    if (event === 'now') seen.add((data as Now).at)
    if (seen.size === 2) return
  }
  expect.unreachable('the page got one state and no update')
})
