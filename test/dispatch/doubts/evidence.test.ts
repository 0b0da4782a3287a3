import { describe, expect, onTestFinished, test } from 'vitest'
import { MemoryBroker } from '../../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../../src/bus/memory/bus.ts'
import type { Bus } from '../../../src/bus/port.ts'
import { Evidence } from '../../../src/dispatch/doubts/evidence.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { StatusEvent } from '../../../src/records/generated.ts'
import { schemas, subjectOf } from '../../../src/records/schemas.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { ManualClock } from '../../support/clock.ts'
import { laggingRegistry } from '../../support/lagging-registry.ts'
import { buildStatusEvent } from '../../support/status-events.ts'

const minute = 60_000

/** A search in statuses that can be made unreadable. */
async function startSearch({ visible = true } = {}) {
  const clock = new ManualClock()
  const broker = new MemoryBroker(clock)
  const telemetry = new Telemetry()
  const registry = laggingRegistry()
  const topic = 'statuses'
  broker.createTopics([{ topic, partitions: 1 }])
  const hop = async () => {}
  const bus = new MemoryBus({ broker, groupId: 'g', clock, telemetry, drainMs: 5000, startFrom: 'earliest', hop })
  onTestFinished(() => bus.close())
  const encode = await createEncoder<StatusEvent>(subjectOf(topic), schemas.status, registry)
  let readable = true
  const follow: Bus['follow'] = async (...args) => {
    if (!readable) throw new Error('no leader')
    return bus.follow(...args)
  }
  const partitions: Bus['partitions'] = async topics => (visible ? bus.partitions(topics) : new Map())
  const evidence = new Evidence({
    bus: { follow, partitions },
    topic,
    decoder: createDecoder(schemas.status, registry, { clock, patient: true }),
    clock,
    telemetry,
  })
  const found: string[] = []
  const troubles: string[] = []
  telemetry.on('evidence.unavailable', ({ error }) => troubles.push(error.message))
  await evidence.prepare()
  return {
    clock,
    found,
    troubles,
    registry,
    addPartitions: (count: number) => broker.addPartitions(topic, count),
    setVisible(value: boolean) {
      visible = value
    },
    seek: (id: number, since: number) =>
      evidence.search({ id: String(id), account: 'default', since, found: () => found.push(String(id)) }),
    calledBack(id: number) {
      const value = encode(buildStatusEvent({ id: BigInt(id) }))
      broker.append([{ topic, key: Buffer.from(String(id)), value }], clock.now())
    },
    setReadable(value: boolean) {
      readable = value
    },
  }
}

describe('callbacks as evidence', () => {
  test('are read as soon as they can be, when they could not be at first', async () => {
    const { clock, seek, setReadable, found, calledBack } = await startSearch()
    setReadable(false)
    seek(1, clock.now())
    calledBack(1)
    await clock.pass(minute)
    setReadable(true)
    await clock.pass(minute)
    expect(found).toEqual(['1'])
  })

  test('are read from the oldest doubt on, when they could not be until a younger one came', async () => {
    const { clock, seek, setReadable, found, calledBack } = await startSearch()
    setReadable(false)
    seek(1, clock.now())
    calledBack(1)
    await clock.pass(10 * minute)
    setReadable(true)
    seek(2, clock.now())
    await clock.pass(minute)
    expect(found).toEqual(['1'])
  })

  test('are heard before a doubt is decided, when they could not be read until then', async () => {
    const { clock, seek, setReadable, found, calledBack } = await startSearch()
    setReadable(false)
    const seeking = seek(1, clock.now())
    calledBack(1)
    await clock.pass(100)
    setReadable(true)
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(found).toEqual(['1'])
  })

  test('are to be heard anew by a machine that was suspended', async () => {
    const { clock, seek } = await startSearch()
    const seeking = seek(1, clock.now())
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(seeking.isCaughtUp).toBe(true)
    clock.suspend(6_000)
    expect(seeking.isCaughtUp).toBe(false)
  })

  test('are heard on partitions that were added meanwhile, and where they stood before', async () => {
    const { clock, seek, addPartitions, found, calledBack } = await startSearch()
    const ids = Array.from({ length: 20 }, (_, i) => i + 1)
    const seekings = ids.slice(0, 15).map(id => seek(id, clock.now()))
    for (const id of ids.slice(0, 5)) calledBack(id)
    await clock.pass(2_000)
    for (const id of ids.slice(15)) calledBack(id)
    addPartitions(5)
    for (const id of ids.slice(5, 15)) calledBack(id)
    seekings.push(...ids.slice(15).map(id => seek(id, clock.now())))
    expect(await Promise.all(seekings.map(seeking => seeking.catchUp(minute)))).toEqual(ids.map(() => true))
    expect(new Set(found)).toEqual(new Set(ids.map(String)))
  })

  test('are read as soon as their topic can be seen, and until then that is told', async () => {
    const { clock, seek, setVisible, found, calledBack, troubles } = await startSearch({ visible: false })
    expect(troubles).toEqual([expect.stringMatching(/no partition can be seen: create the topic, or grant/)])
    const seeking = seek(1, clock.now())
    expect(await seeking.catchUp(minute)).toBe(false)
    calledBack(1)
    await clock.pass(5_000)
    setVisible(true)
    await clock.pass(25_000)
    expect(found).toEqual(['1'])
  })

  test('do not count while their topic cannot be seen for ten seconds', async () => {
    const { clock, seek } = await startSearch({ visible: false })
    const seeking = seek(1, clock.now())
    await clock.pass(9_000)
    expect([await seeking.catchUp(minute), seeking.isCaughtUp]).toEqual([false, false])
    await clock.pass(2_000)
    expect([await seeking.catchUp(minute), seeking.isCaughtUp]).toEqual([true, true])
    seeking.end()
    expect(clock.pending).toBe(0)
  })

  test('are not passed over while the registry lacks their schema', async () => {
    const { clock, seek, registry, found, calledBack, troubles } = await startSearch()
    registry.isLagging = true
    const [seeking, other] = [seek(1, clock.now()), seek(2, clock.now())]
    calledBack(1)
    await clock.pass(minute)
    expect([await seeking.catchUp(minute), seeking.isCaughtUp, await other.catchUp(minute)]).toEqual([
      false,
      false,
      true,
    ])
    expect(troubles).toEqual(['no schema 1'])
    registry.isLagging = false
    await clock.pass(minute)
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(found).toEqual(['1'])
  })

  test('are not read any more when nothing is in doubt', async () => {
    const { clock, seek, setReadable } = await startSearch()
    setReadable(false)
    const seeking = seek(1, clock.now())
    await clock.pass(minute)
    seeking.end()
    await clock.pass(minute)
    expect(clock.pending).toBe(0)
  })
})
