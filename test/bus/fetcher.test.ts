import { describe, expect, onTestFinished, test } from 'vitest'
import type { Brokers } from '../../src/bus/cluster/brokers.ts'
import { Unanswered } from '../../src/bus/cluster/errors.ts'
import { type FetchRequest, readFetch } from '../../src/bus/read/fetch-api.ts'
import { Fetcher } from '../../src/bus/read/fetcher.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { sleep } from '../../src/clock.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { type AnsweredPartition, buildBatch, buildFetchAnswer } from '../support/batches.ts'
import { ManualClock, settled } from '../support/clock.ts'

/** null: not yet. 'throttled': nothing, of no partition. */
type Answer = Omit<AnsweredPartition, 'partition'> | Error | null | 'throttled'

const nothing = Buffer.alloc(0)
const leader = 1

type ListedTopic = { name: string; partitions: { partitionIndex: number; timestamp: bigint }[] }

const listed = (topics: readonly ListedTopic[], { low, high }: { low: number; high: number }) => ({
  topics: topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex, timestamp }) => {
      return { partitionIndex, errorCode: 0, offset: BigInt(timestamp === -2n ? low : high) }
    }),
  })),
})

/** Reads one partition, led by node 1, of brokers that answer as the test says. */
function build(answer: (node: number, request: FetchRequest) => Answer | Promise<Answer>, rack?: string) {
  const clock = new ManualClock()
  const asked: [node: number, rack: string, offset: number][] = []
  const offsets: number[] = []
  const ends: number[] = []
  const log = { low: 0, high: 90 }
  const told: string[] = []
  /** What brokers tell of transactions. */
  const open: {
    producers: { producerId: bigint; currentTxnStartOffset: bigint }[]
    transactions: { transactionalId: string; producerId: bigint }[]
  } = { producers: [], transactions: [] }
  const telemetry = new Telemetry()
  telemetry.on('bus.log', ({ message }) => told.push(message))
  const brokers = {
    leader: async () => leader,
    refresh: async () => {},
    nodes: () => [leader, 2],
    async ask({ node }: { node: number }, api: { name: string }, fields: unknown[]) {
      if (api.name === 'DescribeProducers') return { topics: [{ partitions: [{ activeProducers: open.producers }] }] }
      if (api.name === 'ListTransactions') return { transactionStates: node === 2 ? open.transactions : [] }
      if (api.name === 'ListOffsets') return listed(fields[2] as ListedTopic[], log)
      const [request] = fields as [FetchRequest]
      const { offset } = request.partitions[0]!
      asked.push([node, request.rack, offset])
      const answered = await answer(node, request)
      if (answered instanceof Error) throw answered
      if (answered === null) return new Promise(() => {})
      const partitions = answered === 'throttled' ? [] : [{ partition: 0, ...answered }]
      return readFetch(buildFetchAnswer(partitions))
    },
  } as unknown as Brokers
  const fetcher = new Fetcher({ brokers, clock, telemetry, rack })
  onTestFinished(() => void fetcher.close())
  const readFrom = (offset: number, take: Reading['take']) => {
    const reading: Reading = {
      tp: { topic: 'topic', partition: 0 },
      offset,
      life: 0,
      paused: false,
      take,
      cut({ low }) {
        reading.offset = low
      },
    }
    fetcher.read(reading)
  }
  readFrom(0, ({ records, highWatermark }) => {
    offsets.push(...records.map(({ offset }) => offset))
    ends.push(highWatermark)
  })
  const settle = async () => {
    for (let i = 0; i < 30; i++) await settled()
  }
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      await clock.pass(500)
      await settle()
    }
  }
  return { clock, asked, offsets, ends, log, told, open, telemetry, fetcher, settle, pass, readFrom }
}

test('who names no rack is answered by leaders', async () => {
  const { asked, offsets, settle } = build((_, { partitions: [first] }) =>
    first!.offset === 0 ? { bytes: buildBatch([0, 1]) } : null,
  )
  await settle()
  expect(asked).toEqual([
    [leader, '', 0],
    [leader, '', 2],
  ])
  expect(offsets).toEqual([0, 1])
})

test('a replica that the leader prefers is read from', async () => {
  const { asked, settle } = build((node, { partitions: [first] }) => {
    if (node === leader) return { bytes: nothing, preferredReplica: 3 }
    return first!.offset < 2 ? { bytes: buildBatch([first!.offset]) } : null
  }, 'near')
  await settle()
  expect(asked).toEqual([
    [leader, 'near', 0],
    [3, 'near', 0],
    [3, 'near', 1],
    [3, 'near', 2],
  ])
})

test('a replica that fails is left for its leader at once, and for a minute', async () => {
  const { asked, offsets, settle } = build((node, { rack, partitions: [first] }) => {
    if (node !== leader) return new Unanswered('gone')
    if (rack) return { bytes: nothing, preferredReplica: 3 }
    return first!.offset === 0 ? { bytes: buildBatch([0]) } : null
  }, 'near')
  await settle()
  expect(asked).toEqual([
    [leader, 'near', 0],
    [3, 'near', 0],
    [leader, '', 0],
    [leader, '', 1],
  ])
  expect(offsets).toEqual([0])
})

test('a replica that does not have the offset yet does not make anybody believe that the log was cut', async () => {
  const { asked, settle } = build((node, { rack }) => {
    if (node !== leader) return { bytes: nothing, errorCode: 1 }
    return rack ? { bytes: nothing, preferredReplica: 3 } : null
  }, 'near')
  await settle()
  expect(asked.at(-1)).toEqual([leader, '', 0])
})

test('a reading that is at the end of a log leaves the next fetch to one of the same partition that is behind', async () => {
  const waits: number[] = []
  const { asked, settle, readFrom } = build((_, { waitMs, partitions: [first] }) => {
    if (waits.push(waitMs) > 10) return null
    return first!.offset === 1_000 ? { bytes: buildBatch([1_000]) } : { bytes: nothing }
  })
  const behind: number[] = []
  readFrom(1_000, ({ records }) => void behind.push(...records.map(({ offset }) => offset)))
  await settle()
  expect(asked.slice(0, 2).map(([, , offset]) => offset)).toEqual([0, 1_000])
  expect(behind).toEqual([1_000])
  expect(waits).not.toContain(0)
})

test('where a log ends is not told before its broker has: one that throttles answers nothing', async () => {
  let fetches = 0
  const { ends, settle } = build(() => {
    fetches++
    if (fetches === 1) return 'throttled'
    return fetches === 2 ? { bytes: nothing, highWatermark: 7 } : null
  })
  await settle()
  expect(ends).toEqual([7])
})

test('where records come one by one, the next fetch begins 64 ms after the last one began', async () => {
  const begunAt: number[] = []
  const { clock, settle } = build((_, { partitions: [first] }) => {
    const { offset } = first!
    begunAt.push(clock.monotonic())
    return { bytes: buildBatch([offset]), highWatermark: offset + 1 }
  })
  for (let i = 0; i < 140; i++) {
    await clock.pass(1)
    await settle()
  }
  expect(begunAt.at(-1)! - begunAt.at(-2)!).toBe(64)
})

test('where ten records come a millisecond, the next fetch begins when there may be a hundred of them', async () => {
  const begunAt: number[] = []
  const { clock, settle } = build(async (_, { partitions: [first] }) => {
    const { offset } = first!
    begunAt.push(clock.monotonic())
    if (offset >= 10 * clock.monotonic()) await sleep(clock, 1)
    const end = 10 * clock.monotonic()
    return { bytes: buildBatch(Array.from({ length: end - offset }, (_, i) => offset + i)), highWatermark: end }
  })
  for (let i = 0; i < 60; i++) {
    await clock.pass(1)
    await settle()
  }
  expect(begunAt.at(-1)! - begunAt.at(-2)!).toBe(10)
})

test('where nothing came for five seconds, brokers are asked twice a second', async () => {
  const begunAt: number[] = []
  const { clock, settle } = build(async (_, { waitMs }) => {
    begunAt.push(clock.monotonic())
    await sleep(clock, waitMs)
    return { bytes: nothing, highWatermark: 0 }
  })
  for (let i = 0; i < 70; i++) {
    await clock.pass(100)
    await settle()
  }
  expect(begunAt[2]! - begunAt[1]!).toBe(200)
  expect(begunAt.at(-1)! - begunAt.at(-2)!).toBe(500)
})

test('a fetch that left records behind is followed by the next one at once', async () => {
  const { clock, offsets, settle } = build((_, { partitions: [first] }) => {
    const { offset } = first!
    return offset < 10 ? { bytes: buildBatch([offset]), highWatermark: 10 } : null
  })
  await settle()
  await settle()
  expect(offsets).toHaveLength(10)
  expect(clock.monotonic()).toBe(0)
})

test('a log that was cut is no trouble: what is read goes on where it begins, at once, however often that happens', async () => {
  const { clock, asked, log, told, settle } = build((_, { partitions: [first] }) => {
    const { offset } = first!
    if (asked.length > 40) return null
    if (offset < log.low) return { bytes: nothing, errorCode: 1 }
    log.low = offset + 100 // deleted again
    return { bytes: buildBatch([offset]), highWatermark: log.high }
  })
  log.high = 10_000
  await settle()
  await settle()
  expect(asked.length).toBeGreaterThan(40)
  expect([clock.monotonic(), told]).toEqual([0, []])
})

describe('an open transaction', () => {
  /** A log of 90 offsets, of which those from 2 on cannot be read while a transaction is open there. */
  function buildBlocked() {
    const state = { isOpen: true }
    const world = build(async (_, { waitMs, partitions: [first] }) => {
      const offset = first?.offset ?? 2
      if (offset === 0) return { bytes: buildBatch([0, 1]), stableOffset: 2 }
      await sleep(world.clock, waitMs)
      if (state.isOpen) return offset === 2 ? { bytes: nothing, stableOffset: 2 } : null
      return { bytes: offset === 2 ? buildBatch([2]) : nothing, highWatermark: 3 }
    })
    const events: Events['transaction.open'][] = []
    const ended: Events['transaction.ended'][] = []
    world.telemetry.on('transaction.open', event => events.push(event))
    world.telemetry.on('transaction.ended', event => ended.push(event))
    return { world, state, events, ended }
  }

  test('that has kept a partition from being read for 30 s is told of once, with its owner and what to do', async () => {
    const { world, events, ended, state } = buildBlocked()
    const { settle, pass, open, fetcher, offsets } = world
    open.producers = [
      { producerId: 7n, currentTxnStartOffset: -1n },
      { producerId: 9n, currentTxnStartOffset: 40n },
      { producerId: 8n, currentTxnStartOffset: 2n },
    ]
    open.transactions = [{ transactionalId: 'billing-1', producerId: 8n }]
    await settle()
    await pass(29_000)
    expect(events).toEqual([])
    await pass(90_000)
    const text =
      'topic/0 cannot be read beyond offset 2: billing-1 (producer id 8) has an open transaction. End it there; if that ' +
      'program is gone: kafka-transactions.sh --bootstrap-server BROKER abort --topic topic --partition 0 --start-offset 2'
    expect(events).toEqual([
      { topic: 'topic', partition: 0, offset: 2, producerId: 8, transactionalId: 'billing-1', error: null },
    ])
    expect(fetcher.openTransactions.lasting).toEqual([{ topic: 'topic', partition: 0, text }])
    state.isOpen = false
    await pass(2_000)
    expect([offsets, fetcher.openTransactions.lasting, ended]).toEqual([
      [0, 1, 2],
      [],
      [{ topic: 'topic', partition: 0 }],
    ])
  })

  test('is told of without its name where this client may not see it', async () => {
    const { world, events } = buildBlocked()
    const { settle, pass, open, fetcher } = world
    open.producers = [{ producerId: 8n, currentTxnStartOffset: 2n }]
    await settle()
    await pass(32_000)
    expect(events).toMatchObject([{ producerId: 8, transactionalId: null }])
    expect(fetcher.openTransactions.lasting[0]!.text).toContain(
      'the producer with the id 8 has an open transaction (grant this client Describe on transactional ids',
    )
  })
})
