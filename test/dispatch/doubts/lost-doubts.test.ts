import { expect, test } from 'vitest'
import { BusUnavailable, type TopicLook } from '../../../src/bus/port.ts'
import { LostDoubts } from '../../../src/dispatch/doubts/lost-doubts.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { ManualClock } from '../../support/clock.ts'

const second = 1000
const first: TopicLook = { id: 'first', partitions: 4, leaderless: [] }
const recreated: TopicLook = { ...first, id: 'second' }

/** A worker whose partitions with doubts were closed. `see` sets what the bus says about the topic from then on. */
async function closeWithDoubts() {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const told: number[] = []
  telemetry.on('doubts.lost', ({ count }) => told.push(count))
  let look: TopicLook | null | Error = first
  const bus = {
    lookAt: async () => {
      if (look instanceof Error) throw look
      return look
    },
  }
  const doubts = new LostDoubts({ bus, topic: 'doubts', clock, telemetry })
  await doubts.opened()
  void doubts.closed({ topic: 'doubts', partition: 0 }, 12)
  void doubts.closed({ topic: 'doubts', partition: 1 }, 3)
  void doubts.closed({ topic: 'doubts', partition: 2 }, 0)
  const see = (seen: typeof look) => {
    look = seen
  }
  return { clock, doubts, told, see }
}

test('the number of doubts that were lost with a recreated topic is reported', async () => {
  const { clock, doubts, told, see } = await closeWithDoubts()
  see(recreated)
  await doubts.opened()
  await clock.pass(2 * second)
  expect([told, doubts.reason]).toEqual([[12, 3], null])
})

test('a deletion is reported once brokers are reachable and agree on it', async () => {
  const { clock, told, see } = await closeWithDoubts()
  await clock.pass(2 * second)
  see(new BusUnavailable('no broker answers'))
  await clock.pass(300 * second)
  see(null)
  await clock.pass(15 * second)
  expect(told).toEqual([12, 3])
})

test('doubts of a partition that goes to another worker do not count as lost', async () => {
  const { clock, doubts, told, see } = await closeWithDoubts()
  await clock.pass(60 * second)
  see(null)
  await clock.pass(60 * second)
  expect([told, doubts.reason, clock.pending]).toEqual([[], null, 0])
})

test('no broker is asked after a stop', async () => {
  const { clock, doubts, told, see } = await closeWithDoubts()
  doubts.stop()
  see(null)
  await clock.pass(60 * second)
  expect([told, clock.pending]).toEqual([[], 0])
})
