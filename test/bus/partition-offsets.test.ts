import { expect, onTestFinished, test } from 'vitest'
import { PartitionOffsets } from '../../src/bus/read/partition-offsets.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import type { ManualClock } from '../support/clock.ts'
import { FakeCluster, refusal } from '../support/fake-cluster.ts'

const moving = () => refusal('NOT_LEADER_OR_FOLLOWER')

function setUp() {
  const brokers = new FakeCluster()
  const { clock } = brokers
  const telemetry = new Telemetry()
  const warnings: string[] = []
  telemetry.on('bus.log', ({ message }) => warnings.push(message))
  const closing = new AbortController()
  const logs = new PartitionOffsets({ brokers: brokers as never, clock, telemetry, closing: closing.signal })
  onTestFinished(() => closing.abort())
  for (let partition = 0; partition < 12; partition++) Object.assign(brokers.log({ ...tp, partition }), ends)
  return { brokers, clock, logs, warnings }
}

const tp = { topic: 'commands', partition: 3 }
const ends = { low: 2, high: 9 }
/** The partitions of each ListOffsets request. */
const requestedPartitions = (brokers: FakeCluster): number[][] =>
  brokers.of('ListOffsets').map(({ fields }) => {
    return fields[2].flatMap(({ partitions }: Listed) => partitions.map(({ partitionIndex }) => partitionIndex))
  })

interface Listed {
  name: string
  partitions: { partitionIndex: number }[]
}

test('the end of a log is awaited silently during a leader election', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', moving(), moving())
  const end = logs.end(tp)
  await clock.pass(1_000)
  expect(await end).toBe(9)
  expect(warnings).toEqual([])
})

test('the end of a log without a leader for seconds is awaited, with one warning', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', ...Array.from({ length: 10 }, moving))
  const end = logs.end(tp)
  await clock.pass(30_000)
  expect(await end).toBe(9)
  expect(warnings).toEqual([`cannot read commands/3 now: ${moving().message}`])
})

test('the ends of all logs of one broker are requested together', async () => {
  const { brokers, logs } = setUp()
  const tps = Array.from({ length: 12 }, (_, partition) => ({ ...tp, partition }))
  expect(await Promise.all(tps.map(one => logs.ends(one)))).toEqual(tps.map(one => ({ ...one, ...ends })))
  expect(requestedPartitions(brokers).map(({ length }) => length)).toEqual([12, 12])
})

test('a log whose end is requested twice at once is named once, because brokers refuse duplicates', async () => {
  const { brokers, logs } = setUp()
  expect(await Promise.all([logs.ends(tp), logs.ends(tp)])).toEqual(Array(2).fill({ ...tp, ...ends }))
  expect(requestedPartitions(brokers)).toEqual([[3], [3]])
})

/** Lets time pass in steps, because requests are collected for a turn of the event loop before they are sent. */
async function passInSteps(clock: ManualClock, ms: number): Promise<void> {
  for (let step = 0; step < 100; step++) await clock.pass(ms / 100)
}

test('a leader election does not delay the ends of other logs in the same request', async () => {
  const { brokers, clock, logs } = setUp()
  brokers.always('ListOffsets', ([, , topics]: [number, number, Listed[]]) => {
    const codeOf = (partition: number) => (partition === 13 ? moving().code : 0)
    const of = ({ name, partitions }: Listed) => ({
      name,
      partitions: partitions.map(one => ({ ...one, errorCode: codeOf(one.partitionIndex), offset: 2n })),
    })
    return { topics: topics.map(of) }
  })
  const missing = expect(logs.ends({ ...tp, partition: 13 })).rejects.toMatchObject({ type: 'NOT_LEADER_OR_FOLLOWER' })
  expect(await logs.ends(tp)).toMatchObject({ low: 2, high: 2 })
  await passInSteps(clock, 10_000)
  await missing
})

test('the end of a log is known once its leader is elected', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', moving(), moving(), moving())
  const asked = logs.ends(tp)
  await passInSteps(clock, 1_000)
  expect(await asked).toMatchObject(ends)
  expect(warnings).toEqual([])
})

test('a broker that does not answer does not delay the logs of other brokers', async () => {
  const { brokers, logs } = setUp()
  brokers.setLeader({ ...tp, partition: 4 }, 2)
  const frozen = Promise.withResolvers<never>()
  brokers.next('ListOffsets', () => frozen.promise)
  const slow = logs.ends(tp)
  expect(await logs.ends({ ...tp, partition: 4 })).toMatchObject(ends)
  frozen.reject(new Error('no answer'))
  expect(await slow).toMatchObject(ends)
})
