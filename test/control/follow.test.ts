import { expect, test } from 'vitest'
import { type BusRecord, BusUnavailable, type RecordsHandler } from '../../src/bus/port.ts'
import { loadSettings } from '../../src/config/index.ts'
import { type Change, keyOf, type Withdrawal, writeChange } from '../../src/control/change.ts'
import { followControls } from '../../src/control/follow.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { anHour, ManualClock, settled } from '../support/clock.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'

const settings = loadSettings({ env: {}, overrides: { topics: { control: 'control' } } })

/** The changes on the control topic, by partition. */
type Changes = Change[][]

function recordOf(change: Change, offset: number): BusRecord {
  const { key, value } = writeChange('control', change)
  return { offset, timestamp: 0, key: key === null ? null : Buffer.from(key), value, headers: {} }
}

interface TopicOptions {
  changes?: Changes
  missing?: boolean
  /** Whether the reader catches up at once. */
  caughtUp?: boolean
}

/** Follows a control topic with the given changes, whose reading the test controls. */
function build({ changes = [[buildPause()]], ...options }: TopicOptions = {}) {
  const { missing = false, caughtUp = true } = options
  const clock = new ManualClock(anHour)
  const topic = {
    ...{ id: 'first', changes, missing, leaderless: [] as number[], readers: new Set<RecordsHandler>() },
    readings: 0,
    /** Called with the number of each reading, before it; it may throw. */
    onRead: (_reading: number) => {},
    /** Resolves when the reader is at the end. */
    reached: Promise.withResolvers<void>(),
    position: 0,
  }
  if (caughtUp) topic.reached.resolve()
  const bus = {
    async lookAt() {
      const { id, leaderless } = topic
      return topic.missing ? null : { id, partitions: topic.changes.length, leaderless }
    },
    async read(_topics: readonly string[], _from: unknown, onRecords: RecordsHandler) {
      topic.onRead(++topic.readings)
      topic.readers.add(onRecords)
      for (const [partition, changes] of topic.changes.entries()) {
        await onRecords({ topic: 'control', partition }, changes.map(recordOf))
      }
      return {
        caughtUp: () => topic.reached.promise,
        close: async () => void topic.readers.delete(onRecords),
        get position() {
          return topic.position
        },
      }
    },
  }
  const telemetry = new Telemetry()
  const log: string[] = []
  telemetry.on('pause.begun', ({ kind, name }) => log.push(`${kind}/${name} paused`))
  telemetry.on('pause.ended', ({ kind, name, by }) => log.push(`${kind}/${name} goes on, by ${by}`))
  telemetry.on('control.unavailable', ({ error }) => log.push(error.message))
  const following = followControls({ bus, settings, clock, telemetry })
  following.catch(() => {})
  const write = async (change: Change, partition = 0) => {
    topic.changes[partition]!.push(change)
    for (const take of topic.readers) await take({ topic: 'control', partition }, [recordOf(change, 0)])
  }
  const paused = async () => [...(await following).controls.inForce].map(keyOf)
  return { clock, topic, telemetry, following, log, write, paused, catchUp: () => topic.reached.resolve() }
}

test('a start that fails on the control topic leaves no timer and no reader', async () => {
  const { clock, topic, following } = build({ changes: [[buildPause({ until: Date.UTC(2030, 0) })]], caughtUp: false })
  await clock.pass(10_000)
  await expect(following).rejects.toThrow('pauses and withdrawals on control: nothing could be read for 10 s')
  expect(topic.readers.size).toBe(0)
  expect(clock.pending).toBe(0)
  topic.reached.reject(new Error('the reader is closed')) // which nobody waits for
  await settled()
})

test('a start fails if the reading fails before the end of the topic', async () => {
  const { topic, following } = build({ caughtUp: false })
  topic.reached.reject(new BusUnavailable('no broker answers'))
  await expect(following).rejects.toThrow('no broker answers')
  expect(topic.readers.size).toBe(0)
})

test('a topic whose reading failed is read anew, even if it looks as before', async () => {
  const { clock, topic, following, paused, write } = build()
  await following
  topic.onRead = () => {
    throw new Error('not authorized')
  }
  topic.id = 'second'
  await clock.pass(4_000)
  expect((await following).trouble).toContain('not authorized')
  Object.assign(topic, { id: 'first', onRead: () => {} })
  await clock.pass(4_000)
  expect((await following).trouble).toBe(null)
  await write(buildPause({ name: 'late' }))
  expect(await paused()).toEqual(['topic/bulk', 'topic/late'])
})

test('nothing is told of what fails after the end', async () => {
  const { clock, topic, following, log } = build()
  const followed = await following
  topic.reached = Promise.withResolvers()
  await clock.pass(5_000)
  await followed.close()
  await clock.pass(10_000)
  expect([log, clock.pending]).toEqual([['topic/bulk paused'], 0])
})

const longNamed = (count: number, overrides: Partial<Withdrawal> = {}) =>
  Array.from({ length: count }, (_, i) =>
    buildWithdrawal({ kind: 'message', name: `${i}/${'x'.repeat(1_000)}`, ...overrides }),
  )

test('what had no room while the topic was read, and has it at the end, is in force', async () => {
  const changes = [...longNamed(15_600), ...longNamed(200, { begins: false })]
  const { following, topic } = build({ changes: [changes] })
  const { controls } = await following
  expect([controls.overfull, controls.count('withdrawn', 'message'), topic.readers.size]).toEqual([null, 15_400, 1])
})

test('if what had no room cannot be read again, no reader is left, and the topic is read anew', async () => {
  const changes = [...longNamed(15_600), ...longNamed(200, { begins: false })]
  const { clock, following, topic } = build({ changes: [changes] })
  topic.onRead = reading => {
    if (reading === 2) throw new Error('not authorized')
  }
  const { controls } = await following
  expect([controls.count('withdrawn', 'message'), topic.readers.size]).toEqual([0, 0])
  await clock.pass(4_000)
  expect([controls.count('withdrawn', 'message'), topic.readers.size]).toEqual([15_400, 1])
})

test('withdrawals that are over take no room', async () => {
  const { following } = build({ changes: [longNamed(15_600, { until: Date.UTC(2020, 0) })] })
  expect((await following).controls.overfull).toBe(null)
})

test('a start goes on as long as reading advances, however long it takes', async () => {
  const { clock, topic, following, catchUp, paused } = build({ caughtUp: false })
  for (let i = 0; i < 12; i++) {
    topic.position++
    await clock.pass(10_000)
  }
  catchUp()
  expect(await paused()).toEqual(['topic/bulk'])
  await (await following).close()
})

test('changes that are not read are told within ten seconds, and their age until they are', async () => {
  const { clock, topic, following, log } = build()
  const followed = await following
  await clock.pass(20_000)
  expect([followed.trouble, followed.behindMs]).toEqual([null, 0])
  topic.reached = Promise.withResolvers()
  await clock.pass(10_000)
  expect(followed.trouble).toContain('new pauses and withdrawals on control are not seen: reading control is behind')
  expect(followed.behindMs).toBeGreaterThan(5_000)
  topic.reached.resolve()
  await clock.pass(10_000)
  expect([followed.trouble, followed.behindMs]).toEqual([null, 0])
  expect(log).toEqual(['topic/bulk paused', 'reading control is behind its end for 4 s'])
})

test('a topic that is read anew for more than nine seconds counts as not seen since it was left', async () => {
  const { clock, topic, following } = build()
  const followed = await following
  await clock.pass(4_000)
  topic.reached = Promise.withResolvers()
  Object.assign(topic, { id: 'second' })
  await clock.pass(9_000)
  expect([followed.trouble, followed.behindMs]).toEqual([null, 0])
  topic.position++
  await clock.pass(1)
  expect([followed.trouble, followed.behindMs]).toEqual([
    'new pauses and withdrawals on control are not seen: it is read from its beginning',
    9_001,
  ])
  topic.reached.resolve()
  await clock.pass(0)
  expect([followed.trouble, followed.behindMs]).toEqual([null, 0])
  await followed.close()
  expect([topic.readers.size, clock.pending]).toEqual([0, 0])
})

test('a start fails if no broker describes the control topic in time, and waits for no quiet hours', async () => {
  const clock = new ManualClock(anHour)
  const overrides = { topics: { control: 'control' }, gateway: { quietHours: '21:00-09:00 UTC' } }
  const settings = loadSettings({ env: {}, overrides })
  const bus = { lookAt: () => new Promise<never>(() => {}), read: () => expect.unreachable() }
  const following = followControls({ bus, settings, clock, telemetry: new Telemetry() })
  const refused = expect(following).rejects.toMatchObject({
    name: 'BusUnavailable',
    message: 'no broker described control within 4 s',
  })
  await clock.pass(4_000)
  await refused
  expect(clock.pending).toBe(0)
})

test('each change is told with its kind, and what cannot be read, and the end of an outage', async () => {
  const { clock, topic, following, telemetry, write } = build({ changes: [[]] })
  await following
  const told: unknown[] = []
  for (const name of [
    'pause.begun',
    'pause.ended',
    'withdrawal.begun',
    'withdrawal.ended',
    'control.unreadable',
    'control.available',
    'control.crowded',
  ] as const)
    telemetry.on(name, (event: object) => told.push([name, event]))
  const at = clock.now()
  const until = at + 60_000
  await write(buildPause({ at }))
  await write(buildResume({ at }))
  await write(buildWithdrawal({ at, until }))
  await write(buildWithdrawal({ at, until, begins: false }))
  const begun = { by: 'olena', at }
  expect(told.splice(0)).toEqual([
    ['pause.begun', { kind: 'topic', name: 'bulk', ...begun, until: null, reason: null }],
    ['pause.ended', { kind: 'topic', name: 'bulk', ...begun }],
    ['withdrawal.begun', { kind: 'campaign', name: 'spring', ...begun, until, reason: 'wrong price' }],
    ['withdrawal.ended', { kind: 'campaign', name: 'spring', ...begun }],
  ])
  for (const take of topic.readers)
    await take({ topic: 'control', partition: 0 }, [
      { ...recordOf(buildPause(), 5), key: Buffer.from('nonsense'), value: null },
    ])
  expect(told.splice(0)).toEqual([
    ['control.unreadable', { topic: 'control', partition: 0, offset: 5, count: 1, error: expect.any(Error) }],
  ])
  topic.leaderless = [0]
  await clock.pass(8_000)
  topic.leaderless = []
  await clock.pass(8_000)
  expect(told).toEqual([['control.available', { topic: 'control' }]])
})

test.each([
  [1_000, []],
  [1_001, ['1 more']],
  [3_000, ['2000 more']],
])('of %d changes the log names a thousand one by one, and counts the others', async (count, more) => {
  const changes = Array.from({ length: count }, (_, i) => buildPause({ kind: 'tenant', name: `tenant-${i}` }))
  const { clock, following, log, telemetry, write } = build({ changes: [changes] })
  telemetry.on('control.crowded', ({ count }) => log.push(`${count} more`))
  await following
  await clock.pass(5_000)
  expect([log.length, log.slice(1_000)]).toEqual([1_000 + more.length, more])
  await clock.pass(20_000)
  for (let i = 0; i < 1_000; i++) await write(buildResume({ kind: 'tenant', name: `tenant-${i}` }))
  await clock.pass(20_000)
  expect(log.slice(1_000 + more.length)).toEqual(
    Array.from({ length: 1_000 }, (_, i) => `tenant/tenant-${i} goes on, by olena`),
  )
})

test('more than fits stops every command, and is read anew each half minute, until enough has ended', async () => {
  const changes: Change[] = longNamed(15_600)
  const { clock, topic, telemetry, following } = build({ changes: [changes] })
  const told: string[] = []
  telemetry.on('control.overfull', ({ reason }) => told.push(reason))
  telemetry.on('control.available', () => told.push('available'))
  const { controls } = await following
  expect(told).toEqual([expect.stringContaining('nothing is sent: there are more than 100000 pauses')])
  const { readings } = topic
  await clock.pass(30_000)
  expect([topic.readings, controls.overfull]).toEqual([readings, told[0]])
  changes.splice(0, 1_000)
  await clock.pass(4_000)
  expect([topic.readings, topic.readers.size, controls.overfull]).toEqual([readings + 1, 1, null])
  expect(told.slice(1)).toEqual(['available'])
  await clock.pass(60_000)
  expect(topic.readings).toBe(readings + 1)
})

test('a stop during the first read of the control topic leaves no reader', async () => {
  const { clock, topic, following, catchUp } = build({ missing: true, caughtUp: false })
  const followed = await following
  topic.missing = false
  await clock.pass(4_000)
  expect(topic.readers.size).toBe(1)
  await followed.close()
  catchUp()
  await settled()
  expect([topic.readers.size, clock.pending]).toEqual([0, 0])
})

test('a pause ends by the wall clock, within a minute after the clock was changed', async () => {
  const { clock, paused } = build({ changes: [[buildPause({ until: Date.UTC(2026, 2, 14, 13) })]] })
  await clock.pass(1_000)
  expect(await paused()).toHaveLength(1)
  clock.step(3_600_000)
  await clock.pass(60_000)
  expect(await paused()).toEqual([])
})

test('after the control topic was recreated, its new records count and earlier pauses stay', async () => {
  const kept = buildPause({ name: 'kept' })
  const { clock, topic, log, paused } = build({ changes: [[buildPause({ name: 'lost' }), kept]] })
  expect(await paused()).toEqual(['topic/lost', 'topic/kept'])
  topic.missing = true
  await clock.pass(60_000)
  expect(await paused()).toEqual(['topic/lost', 'topic/kept'])
  Object.assign(topic, {
    missing: false,
    id: 'second',
    changes: [[kept, buildPause({ kind: 'account', name: 'new' })]],
  })
  await clock.pass(30_000)
  expect(await paused()).toEqual(['topic/kept', 'account/new'])
  expect(topic.readers.size).toBe(1)
  expect(log).toEqual([
    'topic/lost paused',
    'topic/kept paused',
    'there is no topic control: create it with busgate topics create',
    'topic/lost goes on, by control, which no longer contains it',
    'account/new paused',
  ])
})

test('a pause on an added partition of the control topic takes effect', async () => {
  const { clock, topic, paused, write } = build({ changes: [[]] })
  expect(await paused()).toEqual([])
  topic.changes.push([buildPause({ name: 'early' })])
  await clock.pass(5_000)
  expect(await paused()).toEqual(['topic/early'])
  await write(buildPause({ name: 'late' }), 1)
  expect(await paused()).toEqual(['topic/early', 'topic/late'])
})

test('of several changes to one scope, on several partitions, the last one counts', async () => {
  const resumed = [[buildPause({ at: 1 })], [buildResume({ at: 2 })]]
  expect(await build({ changes: resumed }).paused()).toEqual([])
  expect(await build({ changes: resumed.toReversed() }).paused()).toEqual([])
  const byAnotherClock = [[buildPause({ at: 5 }), buildResume({ at: 3 })]]
  expect(await build({ changes: byAnotherClock }).paused()).toEqual([])
})

test('while the control topic has no leader, pauses stay and one warning is logged', async () => {
  const { clock, topic, log, paused, following } = build()
  await following
  topic.leaderless = [0]
  await clock.pass(60_000)
  const changes = '1 partition of control (0) without a leader: pauses and withdrawals are unknown until they have one'
  const trouble = `new pauses and withdrawals on control are not seen: ${changes}`
  expect([await paused(), (await following).trouble]).toEqual([['topic/bulk'], trouble])
  topic.leaderless = []
  await clock.pass(5_000)
  expect((await following).trouble).toBe(null)
  expect(log).toEqual(['topic/bulk paused', changes])
})
