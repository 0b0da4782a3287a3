import { expect, test } from 'vitest'
import type { Bus } from '../../src/bus/port.ts'
import { freePorts } from '../../src/cli/local-kafka/ports.ts'
import { writeChange } from '../../src/pauses/change.ts'
import type { Now } from '../../src/ui/now.ts'
import { publishAll, until } from '../support/bus.ts'
import { buildCommand, silentPhone } from '../support/commands.ts'
import { startFront } from '../support/front.ts'
import { buildPause, buildResume } from '../support/pauses.ts'
import { eventsAt, historyAt, nowThat, startPage, telemetryOf } from '../support/ui.ts'
import { startWorld } from '../support/worker.ts'

const few = [1n, 2n, 3n].map(id => buildCommand({ id }))
/** Refused for want of money, as docs/sandbox.md says. */
const refused = buildCommand({ id: 4n, phone: 380501234592 })
const smsOf = ({ funnel }: Now) => funnel.find(({ type }) => type === 'sms')

test('without workers, commands, results and verdicts are counted as they come onto the topics', async () => {
  const world = await startWorld()
  await world.send([buildCommand({ id: 99n })])
  await world.finished(1)
  const { url } = await startPage(world)
  await nowThat(url, ({ partitions }) => partitions.length > 0) // its topics are followed
  await world.send([...few, refused])
  const now = await nowThat(url, one => smsOf(one)?.delivered === 3)
  expect(now.figures).toBe('topics')
  expect(smsOf(now)).toEqual({
    ...{ type: 'sms', commands: 4, sent: 3, notSent: 1, inDoubt: 0, unresolved: 0 },
    ...{ delivered: 3, notDelivered: 0 },
  })
  expect(now.failures).toMatchObject([{ outcome: 'REJECTED', count: 1, remedy: expect.any(String) }])
  expect(now.lanes.map(({ commands }) => commands)).toEqual([0, 4])
  expect(now.accounts).toMatchObject([{ account: 'default', state: null, headroom: null }])
  const done = await nowThat(url, ({ partitions }) => partitions.every(({ lag }) => lag === 0))
  expect(done.partitions).toHaveLength(2)
})

test('a message that is read after it was delivered counts once', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  await nowThat(url, ({ partitions }) => partitions.length > 0)
  await world.send([buildCommand({ id: 5n, phone: 380501234594 }), buildCommand({ id: 6n })])
  await until(() => expect(new Set(world.statuses().map(({ id }) => id)).size).toBe(2))
  const now = await nowThat(url, one => (smsOf(one)?.delivered ?? 0) + (smsOf(one)?.notDelivered ?? 0) >= 2)
  expect(smsOf(now)).toMatchObject({ sent: 2 })
  expect((smsOf(now)?.delivered ?? 0) + (smsOf(now)?.notDelivered ?? 0)).toBe(2)
})

test('with workers, the same comes from their metrics, with their accounts and partitions', async () => {
  const world = await startWorld({ settings: { gateway: { rate: 50 } } })
  const { url } = await startPage(world, { workers: [telemetryOf(world)] })
  await nowThat(url, ({ sources }) => sources.every(({ trouble }) => trouble === null))
  await world.send([...few, refused])
  const now = await nowThat(url, one => one.channels?.[0]?.delivered === 3)
  expect(now.figures).toBe('workers')
  expect(smsOf(now)).toMatchObject({ commands: null, sent: 3, notSent: 1, delivered: null })
  expect(now.lanes.map(({ commands }) => commands)).toEqual([0, 4])
  expect(now.accounts).toMatchObject([{ account: 'default', state: 'sending', rate: 50, headroom: expect.any(Number) }])
  expect(now.partitions.map(({ topic }) => topic)).toEqual(expect.arrayContaining([...world.settings.topics.commands]))
})

test('a worker that is not reached, or is something else, is told of, and counted again when it is back', async () => {
  const world = await startWorld()
  const front = await startFront(telemetryOf(world).origin)
  const [closed] = await freePorts([0])
  front.answer = () => ({ status: 404, body: 'nothing here' })
  const { url } = await startPage(world, { workers: [new URL(front.url), new URL(`http://127.0.0.1:${closed}`)] })
  const troubleOf = ({ sources }: Now, i: number) => sources.filter(({ kind }) => kind === 'worker')[i]?.trouble
  const now = await nowThat(
    url,
    told => /nothing of busgate/.test(troubleOf(told, 0) ?? '') && /not reached/.test(troubleOf(told, 1) ?? ''),
  )
  expect(troubleOf(now, 1)).toBe(
    `its address http://127.0.0.1:${closed} was not reached: nothing listens there. Does the worker run, and is this its telemetry.port?`,
  )
  front.answer = () => undefined
  await nowThat(url, now => troubleOf(now, 0) === null)
  await world.send(few)
  await nowThat(url, now => smsOf(now)?.sent === 3)
})

test('what a worker counted before its restart stays counted', async () => {
  const world = await startWorld()
  const front = await startFront()
  let sent = 100
  front.answer = () => ({ body: `busgate_results_published_total{type="sms",outcome="SENT",error_code=""} ${sent}\n` })
  const { url } = await startPage(world, { workers: [new URL(front.url)] })
  await nowThat(url, ({ sources }) => sources.every(({ trouble }) => trouble === null))
  sent = 107
  await nowThat(url, now => smsOf(now)?.sent === 7)
  sent = 2
  await nowThat(url, now => smsOf(now)?.sent === 9)
})

test('a message in doubt stands there with its age and what it waits for, until it is resolved', async () => {
  const world = await startWorld({
    settings: {
      gateway: { timeoutMs: 2000 },
      delivery: { settleMs: 4000, pollIntervalMs: 200 },
      kafka: { sessionTimeoutMs: 6000, rebalanceTimeoutMs: 8000 },
    },
  })
  const { url } = await startPage(world)
  world.sandbox.faults.next('reset-after')
  await world.send([buildCommand({ id: 7n, phone: silentPhone })])
  const now = await nowThat(url, ({ doubts }) => doubts.open === 1)
  expect(now.doubts.oldest).toMatchObject([
    {
      id: '7',
      account: 'default',
      cause: 'reset',
      attempts: 1,
      waitsFor: expect.stringMatching(/^its callback; the gateway is asked in \d s$/),
    },
  ])
  expect(now.at - now.doubts.oldest[0]!.postedAt).toBeLessThan(60_000)
  await nowThat(url, ({ doubts }) => doubts.open === 0)
  expect(world.resultOf).toBeDefined()
})

test('what operators pause is shown until it is resumed', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  const { control } = world.settings.topics
  const pause = { kind: 'account', name: 'default', by: 'olena', reason: 'the invoice' } as const
  await publishAll(world.bus, [writeChange(control, buildPause(pause))])
  const { pauses, accounts } = await nowThat(url, now => now.pauses.length > 0)
  expect(pauses).toMatchObject([{ what: 'account default', why: expect.stringMatching(/by olena .*the invoice/) }])
  expect(accounts).toMatchObject([{ account: 'default', state: 'paused' }])
  await publishAll(world.bus, [writeChange(control, buildResume(pause))])
  const resumed = await nowThat(url, now => now.pauses.length === 0)
  expect(resumed.accounts).toMatchObject([{ account: 'default', state: null }])
})

test('of a worker that is not ready while no broker answers, what happens now is not known', async () => {
  const world = await startWorld()
  const workers = [telemetryOf(world)]
  const away = () => Promise.reject(new Error('no broker answers'))
  const bus = { ...world.bus, partitions: away, progress: away, follow: away } as unknown as Bus
  const { url } = await startPage(world, { bus, workers })
  await nowThat(url, ({ counting }) => counting)
  world.sandbox.faults.next('envelope-refused', Number.POSITIVE_INFINITY)
  await world.send(few)
  const { sources } = await nowThat(url, ({ counting }) => !counting)
  expect(sources).toMatchObject([
    { trouble: expect.stringContaining('no broker answers') },
    { trouble: null, reasons: [expect.any(String)] },
  ])
})

test('an account that the gateway refuses is shown as paused, with the reason that the worker gives', async () => {
  const world = await startWorld()
  world.sandbox.faults.next('envelope-refused', Number.POSITIVE_INFINITY)
  const { url } = await startPage(world, { workers: [telemetryOf(world)] })
  await world.send(few)
  const { pauses, accounts } = await nowThat(url, now => now.pauses.length > 0)
  expect(pauses[0]).toMatchObject({ what: 'account default' })
  expect(accounts[0]!.state).not.toBe('sending')
})

test('dead letters are grouped by what is wrong with them, those from before among them', async () => {
  const world = await startWorld()
  await world.produceRaw(null, { key: Buffer.from('k') })
  await world.produceRaw(Buffer.from('no Avro'))
  await until(() => expect(world.deadLetters()).toHaveLength(2))
  const { url } = await startPage(world)
  await world.produceRaw(Buffer.from('no Avro either'))
  const { deadLetters } = await nowThat(url, now => now.deadLetters.total === 3)
  expect(deadLetters.causes.map(({ code, count }) => [code, count])).toEqual([
    ['NOT_CONFLUENT', 2],
    ['NO_VALUE', 1],
  ])
})

test('a topic that is missing is told of, and the rest is shown', async () => {
  const world = await startWorld()
  const settings = { ...world.settings, topics: { ...world.settings.topics, doubts: 'not-there' } }
  const { url } = await startPage({ ...world, settings })
  const now = await nowThat(url, ({ sources }) => sources[0]!.trouble !== null)
  expect(now.sources[0]!.trouble).toContain('there is no topic not-there: busgate topics create makes it')
  await nowThat(url, ({ partitions }) => partitions.length > 0)
})

test('neither phone nor text is among what goes on', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  const phone = 380671234592
  await world.send([buildCommand({ id: 8n, phone })])
  await world.produceRaw(Buffer.from('a phone 380671234567'))
  const now = await nowThat(
    url,
    one => one.deadLetters.total === 1 && one.failures.length + (smsOf(one)?.sent ?? 0) > 0,
  )
  expect(JSON.stringify(now)).not.toMatch(/38067123/)
})

test('a page that is opened later gets the line of the minutes before', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  await nowThat(url, ({ partitions }) => partitions.length > 0)
  await world.send(few)
  await nowThat(url, now => smsOf(now)?.sent === 3)
  const bulk = world.settings.topics.commands.at(-1)!
  await until(async () => {
    const { series } = await historyAt(url)
    expect(series[bulk]!.some(point => point !== null && point > 0)).toBe(true)
    expect(series.results).toHaveLength(series[bulk]!.length)
  })
})

test('a page that stays open is told of what changes', async () => {
  const world = await startWorld()
  const { url } = await startPage(world)
  const seen = new Set<number>()
  for await (const { event, data } of eventsAt(url, AbortSignal.timeout(30_000))) {
    if (event === 'now') seen.add((data as Now).at)
    if (seen.size === 2) return
  }
  expect.unreachable('it was told once, and never again')
})
