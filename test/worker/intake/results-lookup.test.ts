import { describe, expect, onTestFinished, test } from 'vitest'
import type { Bus, BusRecord, From, OutgoingRecord, Session, TopicPartition } from '../../../src/bus/port.ts'
import { deadLetter } from '../../../src/records/dead-letter.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import { finishedMark } from '../../../src/records/doubt.ts'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { SendResult } from '../../../src/records/generated.ts'
import { copyAtHeader } from '../../../src/records/result.ts'
import { schemas, subjectOf } from '../../../src/records/schemas.ts'
import type { Telemetry } from '../../../src/telemetry/events.ts'
import type { PriorAnswers } from '../../../src/worker/intake/prior-answers.ts'
import { LookupQueue, ResultsLookup } from '../../../src/worker/intake/results-lookup.ts'
import { openMemoryBus } from '../../support/bus.ts'
import { ManualClock } from '../../support/clock.ts'
import { BrokerWithDamagedBatches, buildDamagedBatch } from '../../support/damaged-batches.ts'
import { laggingRegistry } from '../../support/lagging-registry.ts'
import { buildResult } from '../../support/results.ts'

const minute = 60_000
const topics = { results: 'results', deadLetters: 'dead-letters', doubts: 'doubts' }
const subjectAt = (offset: number) => ({ id: BigInt(1000 + offset), account: 'default' })

/** Starts a look-up in the results topic. `open` opens sessions without a window. */
async function startLookup({ owned = 1 } = {}) {
  const clock = new ManualClock()
  const registry = laggingRegistry()
  const { broker, bus, telemetry } = openMemoryBus(Object.values(topics), {
    ...{ broker: new BrokerWithDamagedBatches(clock), clock, partitions: 4, hop: async () => {} },
  })
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const reads: From[] = []
  const troubles: string[] = []
  telemetry.on('answered.unavailable', ({ error }) => troubles.push(error.message))
  let readable = true
  const read: Bus['read'] = async (names, from, onRecords) => {
    if (!readable) throw new Error('results/0 cannot be read: not authorized.')
    reads.push(from)
    return bus.read(names, from, onRecords)
  }
  const lookup = new ResultsLookup({
    bus: { read },
    topics,
    resultDecoder: createDecoder(schemas.result, registry, { clock, patient: true }),
    owned: () => owned,
    movedUntil: () => 0,
    clock,
    telemetry,
  })
  onTestFinished(() => lookup.stop())
  const append = (record: OutgoingRecord) => broker.append([record], clock.now())
  return {
    clock,
    lookup,
    registry,
    reads,
    troubles,
    telemetry,
    append,
    recordAt: (offset: number, timestamp = clock.now()): BusRecord => ({
      offset,
      timestamp,
      key: null,
      value: null,
      headers: {},
    }),
    result(overrides: Partial<SendResult>, partition = 0, headers = {}) {
      const value = encodeResult(buildResult({ commandTopic: 'commands', ...overrides }))
      append({ topic: topics.results, key: null, value, partition, headers })
    },
    setReadable(value: boolean) {
      readable = value
    },
    open: (tp: Partial<TopicPartition> & { until: number }) => openSession({ lookup, telemetry, ...tp }),
  }
}

interface OpenOptions extends Partial<TopicPartition> {
  lookup: ResultsLookup
  telemetry: Telemetry
  until: number
}

/** A session without a window, and the queue in which its records wait. */
function openSession({ lookup, telemetry, topic = 'commands', partition = 0, until }: OpenOptions) {
  const settled: number[] = []
  const fresh: number[] = []
  const session = {
    topic,
    partition,
    alive: true,
    open: true,
    uncheckedUntil: until,
    forgotten: null,
    settle: (offset: number) => void settled.push(offset),
    answeredBefore(offset: number) {
      session.uncheckedUntil = Math.min(session.uncheckedUntil, offset)
    },
    committed: async () => {},
  } as Partial<Session> as Session & { alive: boolean; uncheckedUntil: number }
  const queue = new LookupQueue<{ record: BusRecord }>({ session, lookup, again: items => take(items), telemetry })
  const isAnswered = (answers: PriorAnswers, { offset }: BusRecord) =>
    topic === topics.doubts
      ? answers.isFinished(session, offset)
      : answers.isAnswered(session, offset, subjectAt(offset))
  function take(items: readonly { record: BusRecord }[]): void {
    for (const item of items) {
      if (!queue.intercepts(item, answers => isAnswered(answers, item.record))) fresh.push(item.record.offset)
    }
  }
  return {
    session,
    settled,
    fresh,
    take: (...records: BusRecord[]) => take(records.map(record => ({ record }))),
  }
}

const answerTo = (commandOffset: number, commandPartition = 0): Partial<SendResult> => ({
  ...subjectAt(commandOffset),
  commandOffset,
  commandPartition,
})

describe('a search of the results', () => {
  test('finds a result on any partition, and distinguishes ids and accounts', async () => {
    const { clock, result, open, recordAt } = await startLookup()
    const { take, settled, fresh } = open({ until: 4 })
    const records = [0, 1, 2, 3].map(offset => recordAt(offset))
    result(answerTo(0), 3)
    result({ ...answerTo(1), id: 77n }, 1)
    result({ ...answerTo(2), account: 'another' }, 1)
    result({ ...answerTo(3), commandTopic: 'others' }, 2)
    take(...records)
    expect(settled).toEqual([])
    await clock.pass(0)
    expect({ settled, fresh }).toEqual({ settled: [0], fresh: [1, 2, 3] })
  })

  test.each([
    ['has no timestamp', -1],
    ['has a timestamp in the future', Date.UTC(2026, 2, 14, 13)],
  ])('begins at the first result if a record %s', async (_, timestamp) => {
    const { clock, reads, open, recordAt } = await startLookup()
    const { take } = open({ until: 2 })
    take(recordAt(0, timestamp), recordAt(1))
    await clock.pass(0)
    expect(reads).toEqual([0])
  })

  test('does not delay records that need no look-up', async () => {
    const { setReadable, open, recordAt } = await startLookup()
    setReadable(false)
    const { take, fresh } = open({ until: 2 })
    take(recordAt(1), recordAt(2))
    expect(fresh).toEqual([2])
  })

  test('counts an IN_DOUBT result and a dead letter as an answer', async () => {
    const { clock, result, append, open, recordAt } = await startLookup()
    const { take, session, settled, fresh } = open({ until: 9 })
    const [first, second, third] = [0, 1, 2].map(offset => recordAt(offset))
    result({ ...answerTo(0), outcome: 'IN_DOUBT', final: false })
    const reason = { code: 'DECODE', message: 'no' } as const
    append(deadLetter(topics.deadLetters, { ...session, record: second! }, reason))
    const ofEarlierTopic = recordAt(2, 1)
    append(deadLetter(topics.deadLetters, { ...session, record: ofEarlierTopic }, reason))
    take(first!, second!, third!)
    await clock.pass(0)
    expect({ settled, fresh }).toEqual({ settled: [0, 1], fresh: [2] })
  })

  test('counts the result of a command that has waited as an answer to its copy, too', async () => {
    const { clock, result, open, recordAt } = await startLookup()
    const { take, settled, fresh, session } = open({ until: 9 })
    result({ ...answerTo(7), commandOffset: 2 }, 0, { [copyAtHeader]: '7' })
    take(recordAt(7), recordAt(8))
    await clock.pass(0)
    expect({ settled, fresh }).toEqual({ settled: [7], fresh: [8] })
    expect(session.uncheckedUntil).toBe(8)
  })

  test('settles doubts that their own partition marks as finished, whatever the results say', async () => {
    const { clock, result, append, open, recordAt } = await startLookup()
    const { take, session, settled, fresh } = open({ topic: topics.doubts, until: 9 })
    const [first, second, third] = [0, 1, 2].map(offset => recordAt(offset))
    append(finishedMark(session, 0))
    append(finishedMark({ ...session, partition: session.partition + 1 }, 1))
    result(answerTo(2))
    take(first!, second!, third!)
    await clock.pass(0)
    expect({ settled, fresh }).toEqual({ settled: [0], fresh: [1, 2] })
  })

  test('serves all waiting partitions at once, from an hour and a minute before the oldest record on', async () => {
    const { clock, result, open, recordAt, reads } = await startLookup({ owned: 64 })
    const oldest = recordAt(0)
    await clock.pass(10 * minute)
    const sessions = Array.from({ length: 64 }, (_, partition) => open({ partition, until: 2 }))
    for (const { session } of sessions) result(answerTo(1, session.partition))
    for (const [i, { take }] of sessions.entries()) take(i === 40 ? oldest : recordAt(0), recordAt(1))
    await clock.pass(0)
    for (const { settled, fresh } of sessions) expect({ settled, fresh }).toEqual({ settled: [1], fresh: [0] })
    expect(reads).toEqual([oldest.timestamp - 61 * minute])
  })

  test('is made once, and reads no result that was written since, however long the backlog is', async () => {
    const { clock, result, open, recordAt, reads, telemetry } = await startLookup({ owned: 1_000_000 })
    const { take, settled, fresh } = open({ until: 1_000_000 })
    for (const offset of [0, 999_999]) result(answerTo(offset))
    take(recordAt(0), recordAt(1))
    await clock.pass(minute)
    telemetry.emit('cycle.committed', { topic: 'commands', partition: 0, records: 1, windowUsed: 0 })
    for (const offset of [1, 2, 3, 4]) result(answerTo(offset)) // sent by this worker in the meantime
    take(recordAt(999_998), recordAt(999_999))
    await clock.pass(0)
    expect({ settled, fresh }).toEqual({ settled: [0, 999_999], fresh: [1, 999_998] })
    expect(reads).toHaveLength(1)
  })

  test.each([
    ['none was answered before', [], 2],
    ['a record before them still waits for its schema', [1], 2],
    ['one was answered', [5], 6],
  ])('leaves no look-up for records behind the last answer: %s', async (_, offsets, uncheckedUntil) => {
    const { clock, result, open, recordAt } = await startLookup()
    const { take, session } = open({ until: 1_000_000 })
    for (const offset of offsets) result(answerTo(offset))
    take(recordAt(2), recordAt(3))
    await clock.pass(0)
    expect(session.uncheckedUntil).toBe(uncheckedUntil)
  })

  test('that covered only some offsets leaves the look-up of the others', async () => {
    const { clock, result, open, recordAt } = await startLookup({ owned: 1_000_000 })
    const { take, session } = open({ until: 5 })
    for (const offset of [0, 2, 4]) for (const id of [1n, 2n]) result({ ...answerTo(offset), id })
    take(recordAt(0))
    await clock.pass(0)
    expect(session.uncheckedUntil).toBe(5)
  })

  test('is repeated for the rest if there are more answers than one search can hold', async () => {
    const { clock, result, open, recordAt, reads, troubles, telemetry } = await startLookup({ owned: 1_000_000 })
    const held: number[] = []
    telemetry.on('answered.read', ({ known }) => held.push(known))
    const { take, settled, fresh } = open({ until: 5 })
    for (const offset of [0, 2, 4]) result(answerTo(offset))
    for (const offset of [0, 2, 4]) result({ ...answerTo(offset), id: 77n })
    take(...[0, 1, 2, 3, 4].map(offset => recordAt(offset)))
    await clock.pass(0)
    expect({ settled, fresh }).toEqual({ settled: [0, 2, 4], fresh: [1, 3] })
    expect(reads.length).toBeGreaterThan(1)
    expect(held).toEqual([2, 2, 2])
    expect(troubles).toEqual([])
  })

  test('is retried until it succeeds, and meanwhile says what is missing', async () => {
    const { clock, result, open, recordAt, setReadable, lookup, troubles } = await startLookup()
    const { take, settled } = open({ until: 1 })
    setReadable(false)
    result(answerTo(0))
    take(recordAt(0))
    await clock.pass(minute)
    expect(lookup.reason).toMatch(/not authorized\..*commands wait/)
    expect(troubles.length).toBeGreaterThan(1)
    expect(settled).toEqual([])
    setReadable(true)
    await clock.pass(minute)
    expect(settled).toEqual([0])
    expect(lookup.reason).toBeNull()
  })

  test('settles and delivers nothing while the registry lacks the schema of a result, and says so', async () => {
    const { clock, result, open, recordAt, registry, lookup, troubles } = await startLookup()
    const { take, settled, fresh } = open({ until: 2 })
    registry.isLagging = true
    result(answerTo(0), 2)
    take(recordAt(0), recordAt(1))
    await clock.pass(minute)
    expect(lookup.reason).toMatch(/results\/2, offset 0: no schema 1\. .*commands wait/)
    expect([...new Set(troubles)]).toEqual([lookup.reason])
    expect({ settled, fresh }).toEqual({ settled: [], fresh: [] })
    registry.isLagging = false
    await clock.pass(2 * minute)
    expect({ settled, fresh, reason: lookup.reason }).toEqual({ settled: [0], fresh: [1], reason: null })
  })

  test('settles and delivers nothing while a batch of results cannot be read, and says so', async () => {
    const { clock, append, open, recordAt, lookup, troubles } = await startLookup()
    const { take, settled, fresh } = open({ until: 1 })
    append(buildDamagedBatch(topics.results, { partition: 3 }))
    take(recordAt(0))
    await clock.pass(minute)
    expect(lookup.reason).toMatch(/results\/3, offset 0: .*checksum is wrong.*commands wait/)
    expect(troubles.length).toBeGreaterThan(1)
    expect({ settled, fresh }).toEqual({ settled: [], fresh: [] })
  })

  test('waits while a batch of the doubts is damaged, which may say what is finished', async () => {
    const { clock, lookup, append, open, recordAt } = await startLookup()
    const { take, settled, fresh } = open({ topic: topics.doubts, until: 1 })
    append(buildDamagedBatch(topics.doubts, { partition: 3 }))
    take(recordAt(0))
    await clock.pass(minute)
    expect(lookup.reason).toMatch(/doubts\/3, offset 0: .*checksum is wrong.*commands wait/)
    expect({ settled, fresh }).toEqual({ settled: [], fresh: [] })
  })

  test('skips records that are no results', async () => {
    const { clock, append, result, open, recordAt } = await startLookup()
    const { take, settled, fresh } = open({ until: 2 })
    append({ topic: topics.results, key: null, value: Buffer.from('of a stranger'), partition: 0 })
    append({ topic: topics.results, key: null, value: null, partition: 0 })
    result(answerTo(0))
    take(recordAt(0), recordAt(1))
    await clock.pass(minute)
    expect({ settled, fresh }).toEqual({ settled: [0], fresh: [1] })
  })

  test('reports what is unchecked, foreign records on the results but not tombstones, and at its end what it read', async () => {
    const { clock, append, telemetry, open, recordAt } = await startLookup()
    const told: unknown[] = []
    telemetry.on('result.unreadable', ({ topic, offset }) => told.push(`${topic} ${offset}`))
    telemetry.on('answered.read', ({ sessions }) => told.push(`read for ${sessions}`))
    telemetry.on('session.unchecked', ({ topic, until }) => told.push(`${topic} before ${until}`))
    append({ topic: topics.results, key: null, value: Buffer.from('foreign'), partition: 0 })
    append({ topic: topics.results, key: Buffer.from('1'), value: null, partition: 0 })
    append({ topic: topics.doubts, key: null, value: Buffer.from('foreign'), partition: 0 })
    open({ until: 0 })
    open({ until: 1 }).take(recordAt(0))
    await clock.pass(minute)
    expect(told).toEqual(['commands before 1', 'results 0', 'read for 1'])
  })

  test('ends when no session waits for it', async () => {
    const { clock, open, recordAt, setReadable, lookup } = await startLookup()
    const { take, session } = open({ until: 1 })
    setReadable(false)
    take(recordAt(0))
    await clock.pass(minute)
    session.alive = false
    await clock.pass(minute)
    expect([lookup.reason, clock.pending]).toEqual([null, 0])
  })
})
