import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { KeyedTopic } from '../../src/bus/keyed-topic.ts'
import type { BusRecord, OnRecords } from '../../src/bus/port.ts'
import { VerdictIds, Verdicts } from '../../src/reconciler/verdicts.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { openMemoryBus } from '../support/bus.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildStatusEvent } from '../support/status-events.ts'

/** More verdicts than fit into memory, so that the reader keeps only its window. */
const many = 1 << 18
const minute = 60_000
const hour = 60 * minute

/** Builds a reader of verdicts to which the test passes statuses. */
async function buildVerdicts(mostIds?: number) {
  const clock = new ManualClock()
  const registry = embeddedRegistry()
  const encode = await createEncoder<StatusEvent>(subjectOf('statuses'), schemas.status, registry)
  let handOver: OnRecords = () => {}
  /** While it holds an error, nothing can be read. */
  const trouble: { error: Error | null } = { error: null }
  const unlessTrouble = async () => {
    if (trouble.error) throw trouble.error
  }
  const telemetry = new Telemetry()
  const open = new Set<number>()
  let opened = 0
  const { bus } = openMemoryBus(['statuses', 'results'], { clock })
  const topics = { statuses: new KeyedTopic(bus, 'statuses', clock), messages: new KeyedTopic(bus, 'results', clock) }
  const verdicts = new Verdicts({
    bus: {
      recordsAt: bus.recordsAt.bind(bus),
      async follow(_tp, _from, onRecords) {
        await unlessTrouble()
        handOver = onRecords
        const number = opened++
        open.add(number)
        return { position: 0, caughtUp: unlessTrouble, close: async () => void open.delete(number) }
      },
    },
    ...topics,
    partition: 0,
    decoder: createDecoder(schemas.status, registry),
    delayMs: 60_000,
    clock,
    telemetry,
    ...(mostIds !== undefined && { mostIds }),
  })
  onTestFinished(() => verdicts.close())
  await verdicts.moveTo(clock.now())
  const record = (id: number, event: Partial<StatusEvent> = {}, aheadMs = 0): BusRecord => {
    const value = encode(buildStatusEvent({ id: BigInt(id), ...event }))
    return { offset: id, timestamp: clock.now() + aheadMs, key: null, value, headers: {} }
  }
  return { verdicts, clock, record, telemetry, trouble, open, handOver: (records: BusRecord[]) => handOver(records) }
}

test("a verdict whose writer's clock is ahead does not hide other verdicts", async () => {
  const { verdicts, record, handOver } = await buildVerdicts()
  await handOver(Array.from({ length: many }, (_, i) => record(i + 1)))
  void handOver([record(many + 1, {}, hour), record(many + 2)])
  await settled()
  expect(verdicts.has('default', BigInt(many + 2), false)).toBe(true)
})

test('the reconciler forgets no verified verdict in a flood of unverified ones', async () => {
  const { verdicts, clock, record, handOver } = await buildVerdicts(1000)
  await handOver([record(1), record(2, { verified: false })])
  await clock.pass(20_000)
  await handOver(Array.from({ length: 2000 }, (_, i) => record(10 + i, { verified: false })))
  expect([1n, 2n].map(id => verdicts.has('default', id, true))).toEqual([true, false])
})

test('verdicts that no message needs any more make room without a warning', async () => {
  const { verdicts, clock, record, handOver, telemetry } = await buildVerdicts(100)
  let forgotten = 0
  telemetry.on('verdicts.forgotten', ({ count }) => {
    forgotten += count
  })
  const ids = Array.from({ length: 200 }, (_, i) => BigInt(i + 1))
  for (const id of ids) {
    await clock.pass(minute)
    await verdicts.moveTo(clock.now())
    await handOver([record(Number(id), { verified: id % 2n === 0n })])
  }
  expect(forgotten).toBe(0)
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
  const { verdicts, clock, record, handOver } = await buildVerdicts()
  const began = clock.now()
  const last = BigInt(many + 1)
  await handOver(Array.from({ length: many }, (_, i) => record(i + 1)))
  await clock.pass(hour)
  let isRead = false
  const reading = handOver([record(many + 1)])?.then(() => {
    isRead = true
  })
  await verdicts.moveTo(began + 1)
  expect([isRead, verdicts.has('default', last, false)]).toEqual([false, false])
  await verdicts.moveTo(clock.now())
  await reading
  expect(verdicts.has('default', last, false)).toBe(true)
})

test('while statuses cannot be read, that is told, no message is taken for one without a verdict, and they are read later', async () => {
  const { verdicts, clock, record, handOver, telemetry, trouble, open } = await buildVerdicts()
  const told: string[] = []
  telemetry.on('statuses.unreadable', ({ topic, partition, error }) =>
    told.push(`${topic}/${partition}: ${error.message}`),
  )
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
