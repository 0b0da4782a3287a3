import { expect, test } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildRecord, buildRecords, TestListener } from '../support/bus.ts'
import { ManualClock } from '../support/clock.ts'
import { openWired } from '../support/wires.ts'

/** A process whose brokers the test can make unavailable with `wire.down`. */
async function buildProcess() {
  const clock = new ManualClock()
  const broker = new MemoryBroker(clock)
  for (const topic of ['commands', 'results']) broker.createTopics([{ topic, partitions: 1 }])
  const wire = { down: false }
  const listener = new TestListener()
  const bus = new MemoryBus({
    broker,
    groupId: 'busgate',
    clock,
    telemetry: new Telemetry(),
    drainMs: 2_000,
    startFrom: 'earliest',
    hop: async () => {
      if (wire.down) throw new Error('connect ECONNREFUSED')
    },
  })
  const joining = bus.join(['commands'], listener)
  await clock.pass(1_000)
  const membership = await joining
  broker.append(buildRecords('commands', ['a', 'b', 'c']), clock.now())
  await clock.pass(1_000)
  const results = () => broker.read({ topic: 'results', partition: 0 }, 0, 100).records.map(({ key }) => String(key))
  return { clock, broker, wire, listener, membership, results }
}

test("the gateway's answers during a broker outage of five minutes are published afterwards", async () => {
  const { clock, wire, listener, membership, results } = await buildProcess()
  const session = listener.session()
  const intended = session.intend([0, 1])
  await clock.pass(100)
  expect(await intended).toBe(true)
  wire.down = true
  session.settle(0, [buildRecord('results', 'sent a')])
  await clock.pass(200_000)
  session.settle(1, [buildRecord('results', 'sent b')])
  await clock.pass(100_000)
  expect(listener.fatals).toEqual([])
  expect(membership.trouble()).toContain('ECONNREFUSED')
  expect(membership.hasLease()).toBe(false)
  wire.down = false
  await clock.pass(15_000)
  expect(results()).toEqual(['sent a', 'sent b'])
  expect(listener.doubted).toEqual([])
  expect(listener.freshKeys).toEqual(['a', 'b', 'c', 'c'])
  expect(membership.trouble()).toBeNull()
})

test("a stop waits for unavailable brokers, within its time limit, to publish the gateway's answers", async () => {
  const { clock, wire, listener, membership, results } = await buildProcess()
  const session = listener.session()
  const intended = session.intend([0])
  await clock.pass(100)
  expect(await intended).toBe(true)
  wire.down = true
  const left = membership.leave(30_000)
  session.settle(0, [buildRecord('results', 'sent a')])
  await clock.pass(10_000)
  wire.down = false
  await clock.pass(10_000)
  await left
  expect(results()).toEqual(['sent a'])
})

test('a bus with unavailable brokers can be closed while requests wait for them', async () => {
  const { bus } = openWired({ brokers: ['127.0.0.1:1'], groupId: 'busgate' })
  const asked = expect(bus.partitions(['commands'])).rejects.toThrow('no broker answers')
  await expect(bus.close()).resolves.toBeUndefined()
  await asked
})
