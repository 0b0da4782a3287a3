import { describe, expect, test } from 'vitest'
import { writeChange } from '../../src/control/change.ts'
import type { Events } from '../../src/telemetry/events.ts'
import { refusal } from '../support/answers.ts'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume } from '../support/control.ts'
import { numbersFrom, sorted, startSendingWorld } from '../support/sending.ts'

const scopes = [
  { kind: 'topic', name: 'bulk' },
  { kind: 'account', name: 'other' },
  { kind: 'campaign', name: 'spring' },
  { kind: 'tenant', name: 'acme' },
] as const
/** The fields of a command that each of these scopes stops. */
const stopped = { account: 'other', campaign: 'spring', tenant: 'acme' }

describe.each(scopes)('a paused $kind', scope => {
  test('sends nothing until it is resumed, then each command once, while others are sent', async () => {
    const { put, pass, control, posts } = await startSendingWorld()
    control(buildPause(scope))
    await pass(100)
    put('bulk', commandsFrom(1, 300, stopped))
    put('urgent', commandsFrom(1_001, 10))
    await pass(10_000)
    expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual(numbersFrom(1_001, 10))
    control(buildResume(scope))
    await pass(2_000)
    expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual([...numbersFrom(1, 300), ...numbersFrom(1_001, 10)])
  })

  test('that was paused before the worker started sends nothing until it is resumed', async () => {
    const before = [writeChange('control', buildPause(scope))]
    const { put, pass, posts, control } = await startSendingWorld({ control: before })
    put('bulk', commandsFrom(1, 30, stopped))
    await pass(5_000)
    expect(posts).toEqual([])
    control(buildResume(scope))
    await pass(2_000)
    expect(posts.flatMap(({ ids }) => ids)).toHaveLength(30)
  })

  test('holds back prepared envelopes, and finishes requests in flight', async () => {
    const slots = { concurrency: 2, maxOperations: 10 }
    const { put, pass, control, posts, results } = await startSendingWorld({ gateway: slots, takes: () => 3_000 })
    put('bulk', commandsFrom(1, 200, stopped))
    await pass(1_000)
    const before = posts.length
    expect(before).toBeGreaterThan(0)
    control(buildPause(scope))
    await pass(30_000)
    expect(posts).toHaveLength(before)
    expect(results()).toHaveLength(before * 10)
    control(buildResume(scope))
    await pass(90_000)
    expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual(numbersFrom(1, 200))
  })

  test('lets commands expire at their deadline, even behind thousands without one', async () => {
    const { clock, put, pass, control, posts, results } = await startSendingWorld()
    control(buildPause(scope))
    await pass(100)
    put('bulk', commandsFrom(1, 6_000, stopped))
    put('bulk', commandsFrom(10_001, 100, { ...stopped, deadline: clock.now() + 10_000 }))
    await pass(16_000)
    expect(results().map(({ id }) => Number(id))).toEqual(numbersFrom(10_001, 100))
    expect(results().every(({ errorCode }) => errorCode === 'DEADLINE')).toBe(true)
    control(buildResume(scope))
    await pass(20_000)
    expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual(numbersFrom(1, 6_000))
  })

  test('resumes by itself at its end', async () => {
    const { clock, put, pass, control, posts, gauge } = await startSendingWorld()
    control(buildPause({ ...scope, until: clock.now() + 60_000 }))
    await pass(100)
    put('bulk', commandsFrom(1, 5, stopped))
    await pass(59_000)
    expect(posts).toEqual([])
    expect(gauge('pauses', scope.kind)).toBe(1)
    await pass(2_000)
    expect(posts.flatMap(({ ids }) => ids)).toHaveLength(5)
    expect(gauge('pauses', scope.kind)).toBe(0)
  })
})

test.each([
  { kind: 'account', name: 'other' },
  { kind: 'campaign', name: 'spring' },
  { kind: 'tenant', name: 'acme' },
] as const)('a paused $kind with thousands of commands delays nobody else', async scope => {
  const { put, pass, control, posts } = await startSendingWorld()
  control(buildPause(scope))
  await pass(100)
  put('bulk', commandsFrom(1, 7_000, stopped))
  put('bulk', commandsFrom(10_001, 100))
  await pass(5_000)
  expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual(numbersFrom(10_001, 100))
  control(buildResume(scope))
  await pass(60_000)
  expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual([...numbersFrom(1, 7_000), ...numbersFrom(10_001, 100)])
})

test('thousands of tenants paused at once delay nobody else', async () => {
  const { clock, put, pass, control, posts } = await startSendingWorld()
  control(buildPause())
  await pass(100)
  put('bulk', commandsFrom(1, 4_000))
  await pass(1_000)
  const tenants = Array.from({ length: 20_000 }, (_, i) => ({ kind: 'tenant', name: `tenant ${i}` }) as const)
  control(...tenants.map(tenant => buildPause({ ...tenant, until: clock.now() + 25_000 })))
  for (let i = 0; i < 400; i++) {
    put('urgent', commandsFrom(10_001 + i, 1))
    await pass(50)
  }
  await pass(1_000)
  expect(posts.flatMap(({ ids }) => ids)).toEqual(numbersFrom(10_001, 400))
  await pass(6_000)
  control(buildResume())
  await pass(10_000)
  expect(sorted(posts.flatMap(({ ids }) => ids))).toEqual([...numbersFrom(1, 4_000), ...numbersFrom(10_001, 400)])
})

test('commands under several pauses are sent when all have ended', async () => {
  const { put, pass, control, posts } = await startSendingWorld()
  const [topic, account, tenant] = scopes
  control(buildPause(topic), buildPause(account), buildPause(tenant))
  await pass(100)
  put('bulk', commandsFrom(1, 20, stopped))
  for (const scope of [topic, tenant]) {
    control(buildResume(scope))
    await pass(2_000)
    expect(posts).toEqual([])
  }
  control(buildResume(account))
  await pass(2_000)
  expect(posts.flatMap(({ ids }) => ids)).toEqual(numbersFrom(1, 20))
})

test('commands that the gateway refused alone before a pause are retried after it', async () => {
  let isRefusing = true
  const refused = (ids: number[]) => isRefusing && ids.includes(7)
  const { put, pass, control, results } = await startSendingWorld({
    answer: (_, { ids }) => (refused(ids) ? refusal('?') : null),
  })
  put('bulk', commandsFrom(1, 20))
  await pass(1_000)
  control(buildPause())
  await pass(5_000)
  isRefusing = false
  control(buildResume())
  await pass(100)
  put('bulk', commandsFrom(101, 20))
  await pass(60_000)
  const outcomes = new Set(results().map(({ outcome }) => outcome))
  expect([...outcomes]).toEqual(['SENT'])
  expect(results()).toHaveLength(40)
})

describe('the control topic', () => {
  test('that does not exist stops nothing, and is read once it exists', async () => {
    const { broker, put, pass, control, posts } = await startSendingWorld({ missing: ['control'] })
    put('bulk', commandsFrom(1, 5))
    await pass(2_000)
    expect(posts.flatMap(({ ids }) => ids)).toHaveLength(5)
    broker.createTopics([{ topic: 'control', partitions: 1 }])
    control(buildPause())
    await pass(35_000, 500)
    put('bulk', commandsFrom(101, 5))
    await pass(5_000)
    expect(posts.flatMap(({ ids }) => ids)).toHaveLength(5)
  })

  test.each([
    ['of no scope', { key: Buffer.from('nonsense'), value: Buffer.from('{}') }],
    ['of another kind', { key: Buffer.from('planet/mars'), value: Buffer.from('{}') }],
    ['that is no JSON', { key: Buffer.from('topic/bulk'), value: Buffer.from('pause it!') }],
    ['that does not say whether it pauses', { key: Buffer.from('topic/bulk'), value: Buffer.from('{"paused":"yes"}') }],
    ['without a key', { key: null, value: Buffer.from('{}') }],
  ])('has a record %s reported and skipped', async (_, record) => {
    const { telemetry, broker, pass, control, put, posts } = await startSendingWorld()
    const told: unknown[] = []
    telemetry.on('control.unreadable', event => told.push({ ...event, error: event.error.message }))
    broker.append([{ topic: 'control', partition: 0, ...record }], 0)
    control(buildPause())
    await pass(100)
    expect(told).toMatchObject([{ topic: 'control', partition: 0, offset: 0, error: expect.stringMatching(/^its /) }])
    put('bulk', commandsFrom(1, 5))
    await pass(1_000)
    expect(posts).toEqual([])
  })

  test('resumes a scope whose last record was deleted', async () => {
    const { broker, put, pass, control, posts } = await startSendingWorld()
    control(buildPause())
    await pass(100)
    put('bulk', commandsFrom(1, 5))
    broker.append([{ topic: 'control', partition: 0, key: Buffer.from('topic/bulk'), value: null }], 0)
    await pass(1_000)
    expect(posts.flatMap(({ ids }) => ids)).toHaveLength(5)
  })
})

describe('a log that is cut during a pause', () => {
  test('is reported at once in one event, and the commands in memory and new ones are sent afterwards', async () => {
    const { put, pass, control, posts, broker, telemetry, gauge } = await startSendingWorld()
    const cuts: Events['log.cut'][] = []
    telemetry.on('log.cut', event => cuts.push(event))
    control(buildPause({ kind: 'topic', name: 'bulk' }))
    await pass(100)
    put('bulk', commandsFrom(1, 39_000))
    await pass(3_000)
    broker.cut({ topic: 'bulk', partition: 0 }, { start: 39_000 })
    await pass(10_000)
    expect(cuts).toMatchObject([{ topic: 'bulk', partition: 0, perhapsSent: 0 }])
    expect(gauge('oldest_unsent_command_age_seconds', 'bulk')).toBe(0) // the remaining commands are paused
    put('bulk', commandsFrom(39_001, 10))
    control(buildResume({ kind: 'topic', name: 'bulk' }))
    await pass(1_000)
    const sent = sorted(posts.flatMap(({ ids }) => ids))
    expect(sent).toHaveLength(39_010 - cuts[0]!.unsent - cuts[0]!.unread)
    expect(sent.slice(-10)).toEqual(numbersFrom(39_001, 10))
    const offsets = cuts[0]!.unsentOffsets.split(', ').map(run => run.split('-').map(Number))
    expect(sent.filter(id => offsets.some(([first, last = first]) => id - 1 >= first! && id - 1 <= last!))).toEqual([])
    await pass(10_000)
    expect(cuts).toHaveLength(1)
    expect(gauge('window_used_ratio', 'bulk')).toBe(0)
  })
})
