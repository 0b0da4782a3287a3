import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { KeyedTopic } from '../../src/bus/keyed-topic.ts'
import { partitionOf } from '../../src/bus/murmur2.ts'
import type { BusRecord, OnRecords } from '../../src/bus/port.ts'
import { VerdictIds, Verdicts } from '../../src/reconciler/verdicts.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { openMemoryBus } from '../support/bus.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'

/** More verdicts than fit into memory, so that the reader keeps only its window. */
const many = 1 << 18
const minute = 60_000
const hour = 60 * minute

interface BuildOptions {
  /** Most ids in memory. */
  mostIds?: number
  delayMs?: number
  /** The partition of the messages. */
  partition?: number
  /** Number of partitions of the results and statuses. */
  partitions?: number
}

/** Builds a reader of verdicts to which the test passes statuses. */
async function buildVerdicts({ delayMs = minute, partition = 0, partitions = 1, ...limits }: BuildOptions = {}) {
  const clock = new ManualClock()
  const registry = laggingRegistry()
  const encode = await createEncoder<StatusEvent>(subjectOf('statuses'), schemas.status, registry)
  let handOver: OnRecords = () => {}
  /** While it holds an error, nothing can be read; while it holds a promise, the answers wait for it. */
  const trouble: { error: Error | null; until: Promise<void> | null } = { error: null, until: null }
  const unlessTrouble = async () => {
    await trouble.until
    if (trouble.error) throw trouble.error
  }
  const telemetry = new Telemetry()
  const told: string[] = []
  telemetry.on('statuses.unreadable', ({ topic, partition, error }) =>
    told.push(`${topic}/${partition}: ${error.message}`),
  )
  const forgotten: number[] = []
  telemetry.on('verdicts.forgotten', ({ count }) => forgotten.push(count))
  /** Numbers of the readings that are open, and the partition of each. */
  const open = new Map<number, number>()
  const opened: number[] = []
  const { bus, broker } = openMemoryBus(['statuses', 'results'], { clock, partitions, hop: async () => {} })
  const topics = { statuses: new KeyedTopic(bus, 'statuses', clock), messages: new KeyedTopic(bus, 'results', clock) }
  const verdicts = new Verdicts({
    bus: {
      async recordsAt(tp, offsets) {
        await unlessTrouble()
        return bus.recordsAt(tp, offsets)
      },
      async follow({ partition }, _from, onRecords) {
        const number = opened.push(partition)
        await unlessTrouble()
        handOver = onRecords
        open.set(number, partition)
        return { position: 0, caughtUp: unlessTrouble, close: async () => void open.delete(number) }
      },
    },
    ...topics,
    partition,
    decoder: createDecoder(schemas.status, registry, { clock }),
    delayMs,
    clock,
    telemetry,
    ...limits,
  })
  onTestFinished(() => verdicts.close())
  if (partition < partitions) await verdicts.moveTo(clock.now())
  const record = (id: number, event: Partial<StatusEvent> = {}, aheadMs = 0): BusRecord => {
    const value = encode(buildStatusEvent({ id: BigInt(id), ...event }))
    return { offset: id, timestamp: clock.now() + aheadMs, key: null, value, headers: {} }
  }
  const known = (ids: readonly number[], unhooked = true) =>
    ids.filter(id => verdicts.has('default', BigInt(id), unhooked))
  return {
    ...{ verdicts, clock, registry, broker, bus, record, trouble, told, forgotten, open, opened, known },
    handOver: (records: BusRecord[]) => handOver(records),
  }
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

test("a verdict whose writer's clock is ahead does not hide other verdicts", async () => {
  const { verdicts, record, handOver } = await buildVerdicts()
  await handOver(Array.from({ length: many }, (_, i) => record(i + 1)))
  void handOver([record(many + 1, {}, hour), record(many + 2)])
  await settled()
  expect(verdicts.has('default', BigInt(many + 2), false)).toBe(true)
})

test('a quarter of the memory is for unverified verdicts, whose flood makes no verified one be forgotten', async () => {
  const { clock, record, handOver, known, forgotten } = await buildVerdicts({ mostIds: 1000 })
  const [verified, unverified] = [numbers(1, 750), numbers(1_001, 250)]
  await handOver([...verified.map(id => record(id)), ...unverified.map(id => record(id, { verified: false }))])
  expect([known([...verified, ...unverified]).length, known(unverified, false), forgotten]).toEqual([1000, [], []])
  await clock.pass(20_000)
  await handOver([record(2_000, { verified: false })])
  expect([known(verified).length, known(unverified), known([2_000]), forgotten]).toEqual([750, [], [2_000], [250]])
  await handOver([record(3_000)])
  expect([known(verified), known([3_000]), forgotten]).toEqual([[], [3_000], [250, 750]])
})

test('a single verdict that is forgotten to make room is told', async () => {
  const { clock, record, handOver, forgotten } = await buildVerdicts({ mostIds: 4 })
  await handOver([record(1, { verified: false })])
  await clock.pass(20_000)
  await handOver([record(2, { verified: false })])
  expect(forgotten).toEqual([1])
})

test.each([
  [1_000, 5_000],
  [minute, 7_500],
  [15 * minute, 112_500],
])('messages that are handled %d ms late are looked up together if they are within %d ms', async (delayMs, stepMs) => {
  expect((await buildVerdicts({ delayMs })).verdicts.stepMs).toBe(stepMs)
})

test('verdicts that no message needs any more make room without a warning', async () => {
  const { verdicts, clock, record, handOver, forgotten, opened } = await buildVerdicts({ mostIds: 100 })
  const ids = Array.from({ length: 200 }, (_, i) => BigInt(i + 1))
  for (const id of ids) {
    await clock.pass(minute)
    await verdicts.moveTo(clock.now())
    await handOver([record(Number(id), { verified: id % 2n === 0n })])
  }
  expect([forgotten, opened]).toEqual([[], [0]])
  expect(ids.filter(id => verdicts.has('default', id, true))).toEqual(ids.slice(-6))
})

interface Known {
  account: string
  id: bigint
  slice: number
}

test('beyond the limit the oldest verdicts are forgotten and counted, and no others', () => {
  const step = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ add: fc.nat(40), account: fc.constantFrom('default', 'shop'), slice: fc.nat(8) }),
    },
    { weight: 1, arbitrary: fc.record({ forgetBefore: fc.nat(8) }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), steps => {
      const most = 20
      const ids = new VerdictIds(most)
      let known: Known[] = []
      for (const step of steps) {
        if ('forgetBefore' in step) {
          ids.forgetBefore(step.forgetBefore)
          known = known.filter(({ slice }) => slice >= step.forgetBefore)
        } else {
          const { account, slice } = step
          const one = { account, id: BigInt(step.add + 1), slice }
          const isSame = (other: Known) => other.account === account && other.id === one.id && other.slice === slice
          if (!known.some(isSame)) known.push(one)
          const oldest = Math.min(...known.map(({ slice }) => slice))
          const kept = known.length > most ? known.filter(({ slice }) => slice > oldest) : known
          expect(ids.add(account, one.id, slice)).toBe(known.length - kept.length)
          known = kept
        }
        expect(ids.size).toBe(known.length)
      }
      for (let id = 1n; id <= 41n; id++)
        for (const account of ['default', 'shop'])
          expect(ids.has(account, id)).toBe(known.some(one => one.account === account && one.id === id))
    }),
  )
})

test('verdicts of made-up accounts take no more memory than those of one account', () => {
  const many = 20_000
  const before = process.memoryUsage().arrayBuffers
  const ids = new VerdictIds(many)
  for (let i = 0; i < many; i++) ids.add(`account-${i}`, BigInt(i + 1), 0)
  expect((process.memoryUsage().arrayBuffers - before) / many).toBeLessThan(200)
  expect([ids.has('account-7', 8n), ids.has('account-7', 9n)]).toEqual([true, false])
})

test('a flood of verdicts is read as far as the window of the messages goes, and on as the window moves', async () => {
  const { verdicts, clock, record, handOver, known } = await buildVerdicts()
  const began = clock.now()
  const horizon = began + minute + 2 * verdicts.stepMs
  const last = numbers(many + 1, 3)
  await handOver(numbers(1, many - 1).map(id => record(id, { verified: id % 2 === 0 })))
  await clock.pass(hour)
  const times = [horizon, horizon + 1, clock.now()]
  let isRead = false
  const reading = handOver(last.map((id, i) => record(id, {}, times[i]! - clock.now())))?.then(() => {
    isRead = true
  })
  await settled()
  expect(known(last)).toEqual([last[0]])
  await verdicts.moveTo(began + 1)
  expect([isRead, known(last)]).toEqual([false, last.slice(0, 2)])
  await verdicts.moveTo(clock.now())
  await reading
  expect(known(last)).toEqual(last.slice(2))
  await clock.pass(hour)
  const rest = handOver([record(many + 4)])
  verdicts.close()
  await rest // the end of the session ends the wait
})

test('while statuses cannot be read, that is told, no message is taken for one without a verdict, and they are read later', async () => {
  const { verdicts, clock, record, handOver, told, trouble, open } = await buildVerdicts()
  trouble.error = new Error('the leader is away')
  let isRead = false
  const moving = verdicts.moveTo(clock.now() + 1).then(() => {
    isRead = true
  })
  await clock.pass(10_000)
  expect([isRead, open.size, new Set(told)]).toEqual([false, 0, new Set(['statuses/0: the leader is away'])])
  expect(told.length).toBeLessThan(20)
  trouble.error = null
  await clock.pass(10_000)
  await moving
  await handOver([record(1)])
  expect([open.size, verdicts.has('default', 1n, false)]).toEqual([1, true])
})

test('only verdicts that messages of the partition can have take memory', async () => {
  const { record, handOver, known } = await buildVerdicts({ partitions: 2, partition: 1 })
  const ids = numbers(1, 100)
  await handOver(ids.map(id => record(id)))
  expect(known(ids)).toEqual(ids.filter(id => partitionOf(String(id), 2) === 1))
})

test('the partitions of statuses that hold the verdicts are read: more after a growth, until it is long ago', async () => {
  const { verdicts, clock, broker, open, opened } = await buildVerdicts({ partitions: 2, partition: 1 })
  const readings: number[][] = []
  for (let step = 0; step < 30; step++) {
    if (step === 15) broker.addPartitions('statuses', 4)
    await clock.pass(minute)
    await verdicts.moveTo(clock.now() - minute)
    const now = [...open.values()].toSorted()
    if (now.join() !== readings.at(-1)?.join()) readings.push(now)
  }
  // it does not know at first whether the topics have just grown
  expect(readings).toEqual([[0, 1], [1], [0, 1, 2, 3], [1, 3]])
  expect(opened.toSorted()).toEqual([0, 0, 1, 2, 3])
})

test('a partition of messages that not every broker knows of yet is waited for', async () => {
  const { verdicts, clock, broker, told, opened } = await buildVerdicts({ partition: 1 })
  let isRead = false
  const moving = verdicts.moveTo(clock.now()).then(() => {
    isRead = true
  })
  await clock.pass(7_000)
  expect([isRead, new Set(told)]).toEqual([false, new Set(['statuses/1: no broker knows of results/1 yet'])])
  broker.addPartitions('results', 2)
  await clock.pass(7_000)
  await moving
  expect(opened).toEqual([0])
})

test.each(['topics', 'partition', 'end'] as const)(
  'nothing is read after the end of the session, even if it waited for the %s of the statuses',
  async waitsFor => {
    const { verdicts, clock, trouble, open, broker } = await buildVerdicts()
    if (waitsFor !== 'end') broker.addPartitions('results', 2) // a new reading
    const { promise, resolve } = Promise.withResolvers<void>()
    trouble.until = promise
    await clock.pass(2_000)
    const moving = verdicts.moveTo(clock.now() - minute)
    if (waitsFor !== 'topics') await settled()
    verdicts.close()
    trouble.until = new Promise(() => {}) // a reading that has ended answers nothing
    if (waitsFor !== 'end') resolve()
    await moving
    await settled()
    expect([...open]).toEqual([])
  },
)

describe('status events whose schema is missing', () => {
  test('are read again until they can be, each in its partition, while others cannot be read', async () => {
    const { verdicts, clock, trouble, told, broker, record } = await buildVerdicts({ partitions: 2 })
    broker.append([{ topic: 'statuses', partition: 1, key: '7', value: record(7).value! }], clock.now())
    const places = [1, 0].map(partition => ({ partition, offset: 0 }))
    trouble.error = new Error('the leader is away')
    let found: unknown = null
    void verdicts.readAgain(buildResult({ id: 7n }), places).then(outcome => {
      found = outcome
    })
    await clock.pass(4_000)
    expect([found, told]).toEqual([null, ['statuses/1: the leader is away']])
    trouble.error = null
    await clock.pass(4_000)
    expect(found).toBe('verdict')
    trouble.error = new Error('the leader is away')
    const given = verdicts.readAgain(buildResult({ id: 8n }), places)
    verdicts.close()
    await clock.pass(10_000)
    await given
    expect(told).toHaveLength(2)
  })

  /** A reading that waits for the schema of the message 10,002, since it cannot keep in mind that this one is unread. */
  async function holdUp() {
    const world = await buildVerdicts()
    const keyed = (id: number) => ({ ...world.record(id), key: Buffer.from(String(id)) }) as BusRecord
    world.registry.isLagging = true
    await world.handOver([...numbers(1, 10_000).map(keyed), world.record(10_001)])
    expect(world.told).toEqual([])
    void world.handOver([keyed(10_002), world.record(10_003)])
    await world.clock.pass(12_000)
    expect(world.told).toEqual(Array(3).fill(expect.stringMatching(/^statuses\/0: offset 10002: no schema/)))
    return world
  }

  test('hold up the reading, which is told, from 10,000 messages on, unless they are of no message', async () => {
    const { clock, registry, known } = await holdUp()
    registry.isLagging = false
    await clock.pass(minute)
    expect(known([10_001, 10_002, 10_003])).toEqual([10_002, 10_003])
  })

  test('are not told of after the end of the session', async () => {
    const { verdicts, clock, told } = await holdUp()
    verdicts.close()
    await clock.pass(minute)
    expect(told).toHaveLength(3)
  })
})
