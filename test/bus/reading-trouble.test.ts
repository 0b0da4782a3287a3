import { expect, onTestFinished, test } from 'vitest'
import { Fetcher } from '../../src/bus/read/fetcher.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { sleep } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

const second = 1000

/** Two partitions that are read, of which one can lose its leader. */
function startReading() {
  const clock = new ManualClock()
  const cluster = { isLeaderless: false }
  const brokers = {
    async leader({ partition }: { partition: number }) {
      if (cluster.isLeaderless && partition === 0) throw new Error('there is no leader')
      return 1
    },
    refresh: async () => {},
    async ask(_: unknown, __: unknown, [{ partitions }]: [{ partitions: { tp: object }[] }]) {
      await sleep(clock, 100)
      const nothing = {
        errorCode: 0,
        abortedTransactions: [],
        highWatermark: 0,
        stableOffset: 0,
        preferredReplica: -1,
        bytes: noBytes,
      }
      return partitions.map(({ tp }) => ({ ...tp, ...nothing }))
    },
  }
  const fetcher = new Fetcher({ brokers: brokers as never, clock, telemetry: new Telemetry() })
  onTestFinished(() => void fetcher.close())
  const readings = [0, 1].map(
    (partition): Reading => ({
      tp: { topic: 'commands', partition },
      offset: 0,
      life: 0,
      paused: false,
      take: () => {},
      cut: () => {},
    }),
  )
  for (const reading of readings) fetcher.read(reading)
  return { clock, cluster, readings, troubles: () => readings.map(reading => fetcher.troubleOf(reading)) }
}

const noBytes = Buffer.alloc(0)

test('a partition that cannot be read is in trouble after some seconds, until it is read again, or rests', async () => {
  const { clock, cluster, readings, troubles } = startReading()
  await clock.pass(10 * second)
  expect(troubles()).toEqual([null, null])
  cluster.isLeaderless = true
  await clock.pass(2 * second)
  expect(troubles()).toEqual([null, null])
  await clock.pass(7 * second) // the leader of before was believed for five of them at most
  expect(troubles()).toEqual(['there is no leader', null])
  await clock.pass(60 * second)
  expect(troubles()).toEqual(['there is no leader', null])
  readings[0]!.paused = true
  expect(troubles()).toEqual([null, null])
  readings[0]!.paused = false
  cluster.isLeaderless = false
  await clock.pass(3 * second)
  expect(troubles()).toEqual([null, null])
})
