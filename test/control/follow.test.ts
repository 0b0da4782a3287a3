import { expect, test } from 'vitest'
import type { BusRecord, RecordsHandler } from '../../src/bus/port.ts'
import { loadSettings } from '../../src/config/index.ts'
import { type Change, keyOf, writeChange } from '../../src/control/change.ts'
import { followControls } from '../../src/control/follow.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildPause, buildResume } from '../support/control.ts'

const settings = loadSettings({ env: {}, overrides: { topics: { control: 'control' } } })

/** The changes on each partition. */
type Told = Change[][]

function recordOf(change: Change, offset: number): BusRecord {
  const { key, value } = writeChange('control', change)
  return { offset, timestamp: 0, key: key === null ? null : Buffer.from(key), value, headers: {} }
}

interface TopicOptions {
  told?: Told
  missing?: boolean
  /** Whether what stands on the topic is handed over as soon as it is read. */
  caughtUp?: boolean
}

/** Follows a control topic, of which the test says what stands there and how it is read. */
function build({ told = [[buildPause()]], ...options }: TopicOptions = {}) {
  const { missing = false, caughtUp = true } = options
  const clock = new ManualClock()
  const topic = { id: 'first', told, missing, leaderless: [] as number[], readers: new Set<RecordsHandler>() }
  const reached = Promise.withResolvers<void>()
  if (caughtUp) reached.resolve()
  const bus = {
    async lookAt() {
      const { id, leaderless } = topic
      return topic.missing ? null : { id, partitions: topic.told.length, leaderless }
    },
    async read(_topics: readonly string[], _from: unknown, onRecords: RecordsHandler) {
      topic.readers.add(onRecords)
      for (const [partition, changes] of topic.told.entries()) {
        await onRecords({ topic: 'control', partition }, changes.map(recordOf))
      }
      return { caughtUp: () => reached.promise, close: async () => void topic.readers.delete(onRecords) }
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
    topic.told[partition]!.push(change)
    for (const take of topic.readers) await take({ topic: 'control', partition }, [recordOf(change, 0)])
  }
  const paused = async () => [...(await following).controls.inForce].map(keyOf)
  return { clock, topic, following, log, write, paused, catchUp: () => reached.resolve() }
}

test('a start that fails on the control topic leaves no timer and no reader', async () => {
  const { clock, topic, following } = build({ told: [[buildPause({ until: Date.UTC(2030, 0) })]], caughtUp: false })
  await clock.pass(10_000)
  await expect(following).rejects.toThrow('pauses and withdrawals on control could not be read within 10 s')
  expect(topic.readers.size).toBe(0)
  expect(clock.pending).toBe(0)
})

test('a stop during the first read of the control topic leaves no reader', async () => {
  const { clock, topic, following, catchUp } = build({ missing: true, caughtUp: false })
  const followed = await following
  topic.missing = false
  await clock.pass(30_000)
  expect(topic.readers.size).toBe(1)
  await followed.close()
  catchUp()
  await settled()
  expect([topic.readers.size, clock.pending]).toEqual([0, 0])
})

test('a pause ends by the wall clock, within a minute after that was set', async () => {
  const { clock, paused } = build({ told: [[buildPause({ until: Date.UTC(2026, 2, 14, 13) })]] })
  await clock.pass(1_000)
  expect(await paused()).toHaveLength(1)
  clock.step(3_600_000)
  await clock.pass(60_000)
  expect(await paused()).toEqual([])
})

test('after the control topic was recreated, its new records count and earlier pauses stay', async () => {
  const kept = buildPause({ name: 'kept' })
  const { clock, topic, log, paused } = build({ told: [[buildPause({ name: 'lost' }), kept]] })
  expect(await paused()).toEqual(['topic/lost', 'topic/kept'])
  topic.missing = true
  await clock.pass(60_000)
  expect(await paused()).toEqual(['topic/lost', 'topic/kept'])
  Object.assign(topic, { missing: false, id: 'second', told: [[kept, buildPause({ kind: 'account', name: 'new' })]] })
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
  const { clock, topic, paused, write } = build({ told: [[]] })
  expect(await paused()).toEqual([])
  topic.told.push([buildPause({ name: 'early' })])
  await clock.pass(5_000)
  expect(await paused()).toEqual(['topic/early'])
  await write(buildPause({ name: 'late' }), 1)
  expect(await paused()).toEqual(['topic/early', 'topic/late'])
})

test('of changes of one scope on several partitions the last one counts', async () => {
  const resumed = [[buildPause({ at: 1 })], [buildResume({ at: 2 })]]
  expect(await build({ told: resumed }).paused()).toEqual([])
  expect(await build({ told: resumed.toReversed() }).paused()).toEqual([])
  const byAnotherClock = [[buildPause({ at: 5 }), buildResume({ at: 3 })]]
  expect(await build({ told: byAnotherClock }).paused()).toEqual([])
})

test('while the control topic has no leader, pauses stay, and one warning says so', async () => {
  const { clock, topic, log, paused, following } = build()
  await following
  topic.leaderless = [0]
  await clock.pass(60_000)
  const told = '1 partition of control (0) without a leader: pauses and withdrawals are unknown until they have one'
  expect([await paused(), (await following).trouble]).toEqual([['topic/bulk'], told])
  topic.leaderless = []
  await clock.pass(5_000)
  expect((await following).trouble).toBe(null)
  expect(log).toEqual(['topic/bulk paused', told])
})
