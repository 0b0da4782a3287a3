import { expect, test } from 'vitest'
import type { BusRecord, RecordsHandler } from '../../src/bus/port.ts'
import { writeChange } from '../../src/pauses/change.ts'
import { followPauses } from '../../src/pauses/follow.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildPause } from '../support/pauses.ts'

/** A clock that can be set, as a machine's is after it slept. */
class SettableClock extends ManualClock {
  aheadMs = 0

  override now(): number {
    return super.now() + this.aheadMs
  }
}

/** Follows a control topic that holds one pause, and of which the test says how it is read. */
function build({ until = null as number | null, missing = false, clock = new SettableClock() } = {}) {
  const { key, value } = writeChange('control', buildPause({ until }))
  const record: BusRecord = { offset: 0, timestamp: 0, key: key ?? null, value, headers: {} }
  const caughtUp = Promise.withResolvers<void>()
  const topic = { missing, readers: 0 }
  const bus = {
    partitions: async () => new Map([['control', 1]]),
    follow: () => Promise.reject(new Error('it is read as a whole')),
    async read(_topics: readonly string[], _from: unknown, onRecords: RecordsHandler) {
      if (topic.missing) throw new Error('there is no topic control')
      topic.readers++
      await onRecords({ topic: 'control', partition: 0 }, [record])
      return { caughtUp: () => caughtUp.promise, close: async () => void topic.readers-- }
    },
  }
  const following = followPauses({ bus, topic: 'control', clock, telemetry: new Telemetry() })
  following.catch(() => {})
  return { clock, topic, following, catchUp: () => caughtUp.resolve() }
}

test('a start that gives up on the control topic leaves no timer and no reader behind', async () => {
  const { clock, topic, following } = build({ until: Date.UTC(2030, 0) })
  await clock.pass(10_000)
  await expect(following).rejects.toThrow('the pauses on control could not be read within 10 s')
  expect(topic.readers).toBe(0)
  expect(clock.pending).toBe(0)
})

test('who stops while the control topic is read for the first time at last leaves no reader behind', async () => {
  const { clock, topic, following, catchUp } = build({ missing: true })
  const { close } = await following
  topic.missing = false
  await clock.pass(30_000)
  expect(topic.readers).toBe(1)
  await close()
  catchUp()
  await settled()
  expect(topic.readers).toBe(0)
})

test('a pause ends by the clock on the wall, within a minute where that was set meanwhile', async () => {
  const clock = new SettableClock()
  const { following, catchUp } = build({ clock, until: clock.now() + 3_600_000 })
  catchUp()
  const { pauses } = await following
  await clock.pass(1_000)
  expect([...pauses.inForce]).toHaveLength(1)
  clock.aheadMs = 3_600_000
  await clock.pass(60_000)
  expect([...pauses.inForce]).toEqual([])
})
