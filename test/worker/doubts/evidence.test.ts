import { describe, expect, test } from 'vitest'
import type { Bus } from '../../../src/bus/port.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { StatusEvent } from '../../../src/records/generated.ts'
import { embeddedRegistry } from '../../../src/records/registry.ts'
import { schemas, subjectOf } from '../../../src/records/schemas.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { Evidence } from '../../../src/worker/doubts/evidence.ts'
import { openMemoryBus } from '../../support/bus.ts'
import { ManualClock } from '../../support/clock.ts'
import { buildStatusEvent } from '../../support/status-events.ts'

const minute = 60_000

/** A search in a statuses topic that the test can make unreadable. */
async function startSearch() {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const registry = embeddedRegistry()
  const topic = 'statuses'
  const hop = async () => {}
  let made = 0
  const makeTopic = () => ({ ...openMemoryBus([topic], { clock, telemetry, hop }), id: `${++made}` })
  let current = makeTopic()
  const encode = await createEncoder<StatusEvent>(subjectOf(topic), schemas.status, registry)
  let readable = true
  const follow: Bus['follow'] = async (tp, from, onRecords) => {
    if (!readable) throw new Error('no leader')
    return current.bus.follow(tp, from, onRecords)
  }
  const lookAt: Bus['lookAt'] = async () => ({ ...(await current.bus.lookAt(topic))!, id: current.id })
  const evidence = new Evidence({
    bus: { follow, lookAt, firstTimes: tps => current.bus.firstTimes(tps) },
    topic,
    decoder: createDecoder(schemas.status, registry, { clock, patient: true }),
    clock,
    telemetry,
  })
  const found: string[] = []
  await evidence.look()
  return {
    clock,
    found,
    evidence,
    /** Deletes the topic and creates it again. */
    recreate() {
      current = makeTopic()
    },
    seek: (id: number, since: number) =>
      evidence.search({ id: String(id), account: 'default', since, found: () => found.push(String(id)) }),
    calledBack(id: number) {
      const value = encode(buildStatusEvent({ id: BigInt(id) }))
      current.broker.append([{ topic, key: Buffer.from(String(id)), value }], clock.now())
    },
    setReadable(value: boolean) {
      readable = value
    },
  }
}

describe('callbacks as evidence', () => {
  test('are read from the oldest doubt on, even if they were unreadable until a later doubt came', async () => {
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

  test('are found although the clock of the process that received them is almost a minute behind', async () => {
    const { clock, seek, calledBack, found } = await startSearch()
    calledBack(1)
    seek(1, clock.now() + 59_000)
    await clock.pass(minute)
    expect(found).toEqual(['1'])
  })

  test('are read from the start of a recreated topic', async () => {
    const { clock, seek, calledBack, recreate, found } = await startSearch()
    const seeking = seek(1, clock.now())
    for (let id = 100; id < 110; id++) calledBack(id)
    await clock.pass(minute)
    recreate()
    calledBack(1)
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(found).toEqual(['1'])
  })

  test('are not sought any more once nothing is in doubt', async () => {
    const { clock, seek, setReadable } = await startSearch()
    setReadable(false)
    const seeking = seek(1, clock.now())
    await clock.pass(minute)
    expect(clock.pending).toBe(1)
    seeking.end()
    expect(clock.pending).toBe(0)
  })

  test('must be read again after a suspend', async () => {
    const { clock, seek } = await startSearch()
    const seeking = seek(1, clock.now())
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(seeking.isCaughtUp).toBe(true)
    clock.suspend(6_000)
    expect(seeking.isCaughtUp).toBe(false)
  })
})
