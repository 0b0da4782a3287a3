import { describe, expect, test } from 'vitest'
import { Unanswered } from '../../src/bus/cluster/errors.ts'
import type { FetchRequest } from '../../src/bus/read/fetch-api.ts'
import { TickBudget } from '../../src/bus/read/tick-budget.ts'
import { sleep } from '../../src/clock.ts'
import type { Events } from '../../src/telemetry/events.ts'
import { buildBatch } from '../support/batches.ts'
import { settled } from '../support/clock.ts'
import { codeOf, fetched, logOf, refusal } from '../support/fake-cluster.ts'
import { buildReadings, tpOf } from '../support/readings.ts'

const tp = tpOf(0)
const leader = 1
const replica = 3

describe('a replica', () => {
  /** The leader redirects a reader that names its rack to a replica. */
  function buildRackReader(answerOfReplica: () => unknown) {
    const world = buildReadings({ rack: 'near' })
    world.cluster.append(tp)
    world.cluster.always('Fetch', ([{ rack }]: [FetchRequest], { node }: { node: number }) => {
      if (node === replica) return answerOfReplica()
      return rack ? [fetched(tp, { preferredReplica: replica })] : undefined
    })
    return { ...world, asked: () => world.fetches().map(({ node, rack, offset }) => [node, rack, offset]) }
  }

  test('that fails is replaced by the leader at once, for a minute', async () => {
    const { asked, read, pass } = buildRackReader(() => new Unanswered('gone'))
    const { offsets } = read(0)
    await pass(0)
    expect(asked()).toEqual([
      [leader, 'near', 0],
      [replica, 'near', 0],
      [leader, '', 0],
      [leader, '', 1],
    ])
    expect(offsets).toEqual([0])
  })

  test('that lags behind is replaced by the leader, and its log does not count as cut', async () => {
    const { asked, read, pass } = buildRackReader(() => [fetched(tp, { errorCode: codeOf('OFFSET_OUT_OF_RANGE') })])
    read(0)
    await pass(0)
    expect(asked().at(-1)).toEqual([leader, '', 1])
  })
})

test('of two readers of a log, the one that is behind gets the next fetch', async () => {
  const { cluster, read, pass, fetches } = buildReadings()
  cluster.append(tp, 1_001)
  read(0, 1_001)
  const behind = read(0, 1_000)
  await pass(50)
  expect(fetches().map(({ offset }) => offset)).toEqual([1_001, 1_000])
  expect(behind.offsets).toEqual([1_000])
  expect(fetches().every(({ waitMs, rack }) => waitMs > 0 && rack === '')).toBe(true)
})

test('the end of a log stays unknown after the empty answer of a throttling broker', async () => {
  const { cluster, read, pass } = buildReadings()
  cluster.next('Fetch', [], [fetched(tp, { highWatermark: 7 })])
  const { ends } = read(0)
  await pass(0)
  expect(ends).toEqual([7])
})

test('a fetch that left records behind is repeated at once', async () => {
  const { cluster, clock, read, pass } = buildReadings()
  cluster.setLog(tp, logOf(10, { inBatch: 1 }))
  cluster.always('Fetch', () => sleep(clock, 1)) // and then it answers
  const { offsets } = read(0)
  await pass(20, 1)
  expect(offsets).toHaveLength(10)
})

test('a reader that is released during a fetch causes no further fetch', async () => {
  const { cluster, fetcher, read, pass, fetches } = buildReadings()
  const { reading, offsets } = read(0)
  await pass(0)
  fetcher.forget(reading)
  cluster.append(tp)
  await pass(1_000)
  expect([offsets, fetches().length]).toEqual([[], 1])
})

describe('a leader look-up that fails while a fetch is in flight', () => {
  /** The handler of the reader's only record never finishes. */
  async function buildFailingLookUp() {
    const world = buildReadings()
    const { cluster, clock, read, pass } = world
    const reader = read(0, 0, () => new Promise(() => {}))
    await pass(4_000)
    const [answer, lookUp] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
    let lookUps = 0
    const { leader } = cluster
    cluster.always('Fetch', () => answer.promise)
    cluster.leader = wanted => {
      if (clock.elapsed > 5_500 || wanted.partition !== 0) return leader.call(cluster, wanted)
      lookUps++
      return lookUp.promise
    }
    await pass(1_100)
    for (const partition of [1, 2]) {
      read(partition)
      await pass(50)
    }
    cluster.append(tp)
    expect(lookUps).toBe(1)
    const fail = () => lookUp.reject(refusal('LEADER_NOT_AVAILABLE'))
    return { ...world, ...reader, fail, end: answer.resolve }
  }

  test.each(['before it is answered', 'after it was answered'])(
    '%s delivers nothing to a reader that is busy',
    async when => {
      const { cluster, offsets, pass, fail, end } = await buildFailingLookUp()
      for (const step of when.startsWith('before') ? [fail, end] : [end, fail]) {
        step()
        await pass(1)
      }
      await pass(500)
      cluster.append(tp)
      await pass(5_000)
      expect(offsets).toEqual([0])
    },
  )
})

test('a reader gets the next records soon after it handled the last; a slow one causes no extra fetches', async () => {
  const { cluster, clock, read, pass, fetches } = buildReadings()
  cluster.setLog(tp, logOf(3, { inBatch: 1 }))
  const { offsets } = read(0, 0, (_, from) => sleep(clock, from < 2 ? 20 : 10_000))
  read(1)
  await pass(100, 1)
  expect(offsets).toEqual([0, 1, 2])
  await pass(1_000)
  expect(fetches().at(-1)!.waitMs).toBe(200)
})

test('a reader of a log that is cut continues at its new beginning at once, however often that happens', async () => {
  const { cluster, read, pass, clock, warnings, fetches } = buildReadings()
  const log = cluster.log(tp)
  log.high = 10_000
  cluster.always('Fetch', ([{ partitions }]: [FetchRequest]) => {
    const { offset } = partitions[0]!
    if (fetches().length > 40) return new Promise(() => {})
    if (offset < log.low) return [fetched(tp, { errorCode: codeOf('OFFSET_OUT_OF_RANGE') })]
    log.low = offset + 100 // deleted again
    return [fetched(tp, { bytes: buildBatch([offset]), highWatermark: log.high })]
  })
  read(0)
  for (let i = 0; i < 40; i++) await pass(0)
  expect(fetches().length).toBeGreaterThan(40)
  expect([clock.elapsed, warnings]).toEqual([0, []])
})

test('a reader continues at its offset if a broker wrongly said OFFSET_OUT_OF_RANGE', async () => {
  const { cluster, read, pass } = buildReadings()
  cluster.append(tp, 5)
  const { offsets } = read(0)
  await pass(300)
  cluster.next('Fetch', [fetched(tp, { errorCode: codeOf('OFFSET_OUT_OF_RANGE') })])
  cluster.append(tp)
  await pass(3_000)
  expect(offsets).toEqual([0, 1, 2, 3, 4, 5])
})

test('readers notice that their topic was recreated, although the new one has their offset', async () => {
  const { cluster, read, pass } = buildReadings()
  cluster.append(tp, 5)
  const { gone } = read(0)
  await pass(300)
  cluster.always('Fetch', refusal('NOT_LEADER_OR_FOLLOWER'))
  await pass(300)
  expect(gone).toEqual([])
  cluster.currentTopicId = 'second'
  cluster.always('Fetch', undefined)
  cluster.append(tp, 4)
  await pass(3_000)
  expect(gone.map(({ message }) => message)).toEqual(['t was deleted and made anew'])
})

describe('trouble of a reader', () => {
  test('is reported once if a leader election takes longer than three seconds, and else not at all', async () => {
    const { cluster, read, pass, warnings } = buildReadings()
    const { offsets } = read(0)
    cluster.always('Fetch', refusal('NOT_LEADER_OR_FOLLOWER'))
    await pass(2_000)
    expect(warnings).toEqual([])
    cluster.always('Fetch', undefined)
    cluster.append(tp)
    await pass(2_000)
    expect(offsets).toEqual([0])
    cluster.always('Fetch', refusal('NOT_LEADER_OR_FOLLOWER'))
    await pass(20_000)
    expect(warnings).toEqual([expect.stringContaining('cannot read t/0 now')])
  })

  test('ends when the partition is read again, or is paused', async () => {
    const { cluster, fetcher, read, pass } = buildReadings()
    cluster.setLeader(tpOf(1), 2)
    const readings = [read(0), read(1)].map(({ reading }) => reading)
    const troubles = () => readings.map(reading => fetcher.troubleOf(reading))
    await pass(1_000)
    cluster.always('Fetch', (_: unknown, { node }: { node: number }) =>
      node === 1 ? new Error('no answer') : undefined,
    )
    await pass(2_000)
    expect(troubles()).toEqual([null, null])
    await pass(60_000)
    expect(troubles()).toEqual(['no answer', null])
    readings[0]!.paused = true
    expect(troubles()).toEqual([null, null])
    readings[0]!.paused = false
    cluster.always('Fetch', undefined)
    await pass(3_000)
    expect(troubles()).toEqual([null, null])
  })
})

describe('a late answer of a former leader', () => {
  /** Two fetches of partition 0 are in flight: at node 1, its former leader, and at node 2, its new one. */
  async function buildMovedLeader() {
    const world = buildReadings()
    const { cluster, read, pass, fetches } = world
    cluster.setLeader(tpOf(1), 2)
    read(1)
    const reader = read(0)
    await pass(300)
    const held = new Map([1, 2].map(node => [node, Promise.withResolvers<void>()]))
    cluster.always('Fetch', ([{ partitions }]: [FetchRequest], { node }: { node: number }) => {
      return partitions.some(({ tp }) => tp.partition === 0) ? held.get(node)!.promise : undefined
    })
    await pass(300)
    cluster.setLeader(tp, 2)
    world.fetcher.read(reader.reading)
    await pass(7_000)
    expect(fetches(2).at(-1)!.partitions).toContain(0)
    return { ...world, ...reader, held }
  }

  test('gives a reader neither records nor the end of the log', async () => {
    const { cluster, held, offsets, ends, pass } = await buildMovedLeader()
    cluster.append(tp)
    cluster.setLeader(tp, 1)
    held.get(1)!.resolve()
    await pass(300)
    expect([offsets, ends]).toEqual([[], [0]])
    cluster.setLeader(tp, 2)
    held.get(2)!.resolve()
    await pass(300)
    expect([offsets, ends]).toEqual([[0], [0, 1]])
  })

  test('with an error is not reported as trouble', async () => {
    const { cluster, held, offsets, gone, warnings, pass } = await buildMovedLeader()
    held.get(1)!.reject(refusal('UNKNOWN_TOPIC_OR_PARTITION'))
    await pass(0)
    cluster.append(tp)
    held.get(2)!.resolve()
    await pass(300)
    expect([gone, warnings, offsets]).toEqual([[], [], [0]])
  })
})

describe('the next fetch begins', () => {
  /** Appends records to each partition at its rate, in records per millisecond. */
  async function flow(
    { cluster, pass }: ReturnType<typeof buildReadings>,
    ms: number,
    ...rates: number[]
  ): Promise<void> {
    for (let at = 0; at < ms; at++) {
      for (const [partition, rate] of rates.entries()) {
        if (rate > 0 && at % Math.ceil(1 / rate) === 0) cluster.append(tpOf(partition), Math.ceil(rate))
      }
      await pass(1, 1)
    }
  }

  /** Partitions 0 and 1 are led by nodes 1 and 2. */
  function buildTwo() {
    const world = buildReadings()
    world.cluster.setLeader(tpOf(1), 2)
    return world
  }

  test('64 ms after the last one if records come one by one, at all brokers at the same time', async () => {
    const world = buildTwo()
    world.read(0)
    await world.pass(20, 1)
    world.read(1)
    await flow(world, 600, 1, 1)
    const [first, second] = [1, 2].map(node =>
      world
        .fetches(node)
        .slice(-3)
        .map(({ at }) => at),
    )
    expect(first).toEqual(second)
    expect(first![2]! - first![1]!).toBe(64)
  })

  test('as soon as a hundred records may have come, although another broker has few', async () => {
    const world = buildTwo()
    world.read(0)
    world.read(1)
    await flow(world, 600, 0.1, 10)
    const times = world.fetches(2).slice(-10)
    const gaps = times.slice(1).map(({ at }, i) => at - times[i]!.at)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(11)
  })

  test('every 15 ms while another partition with a backlog is paused', async () => {
    const world = buildTwo()
    world.cluster.append(tp, 2_000_000)
    const { reading } = world.read(0)
    world.read(1)
    await world.pass(1, 1)
    reading.paused = true
    await flow(world, 300, 0, 1)
    const [before, last] = world.fetches(2).slice(-2)
    expect(last!.at - before!.at).toBe(15)
  })

  test('after a broker has waited 200 ms, or 500 ms if nothing came for five seconds', async () => {
    const { cluster, read, pass, fetches } = buildReadings()
    read(0)
    await pass(7_000, 100)
    expect(fetches().at(1)!.waitMs).toBe(200)
    expect(fetches().at(-1)!.waitMs).toBe(500)
    cluster.append(tp)
    await pass(1_000, 100)
    expect(fetches().at(-1)!.waitMs).toBe(200)
  })

  test('about as often for a backlog if another partition has few records', async () => {
    async function recordsReadBeside(rate: number): Promise<number> {
      const world = buildReadings()
      const pieces = new TickBudget()
      world.cluster.setLog(tp, logOf(1_000_000, { inBatch: 500 }))
      world.cluster.always('Fetch', () => sleep(world.clock, 1)) // and then it answers
      const { offsets } = world.read(0, 0, (all, from) => pieces.give(all, from, () => true))
      world.read(1)
      await flow(world, 300, 0, rate)
      return offsets.length
    }
    expect(await recordsReadBeside(0.2)).toBeGreaterThan((await recordsReadBeside(0)) / 2)
  })
})

test('the more readers there are, the less memory each fetch takes', async () => {
  async function recordsReadBeside(others: number): Promise<number> {
    const { cluster, read, pass } = buildReadings()
    let taken = 0
    cluster.setLog(tp, logOf(1_000, { value: 'v'.repeat(8_000) }))
    for (let partition = 1; partition <= others; partition++) read(partition)
    read(0, 0, ({ records }) => {
      taken = records.length
      return new Promise(() => {})
    })
    await pass(1_000)
    return taken
  }
  expect(await recordsReadBeside(0)).toBeGreaterThan(4 * (await recordsReadBeside(31)))
})

test('partitions whose batches do not fit into memory together are read in turn', async () => {
  const { cluster, read, close } = buildReadings()
  const batches = new Map<number, Buffer>()
  const large = Buffer.alloc(40 * 1024 * 1024)
  const bytes = (offset: number) => {
    const batch = batches.get(offset) ?? buildBatch([{ offset, value: large }], { packing: 'gzip' })
    batches.set(offset, batch)
    return batch
  }
  const taken = [0, 0, 0, 0]
  for (const partition of taken.keys()) {
    cluster.setLog(tpOf(partition), { low: 0, high: 9, bytes })
    read(partition, 0, () => void taken[partition]!++)
  }
  while (taken.reduce((sum, count) => sum + count) < 8) await settled()
  close()
  expect(taken).toEqual([2, 2, 2, 2])
})

describe('an open transaction', () => {
  /** A log that cannot be read from offset 2 on while a transaction is open there. */
  function buildBlocked() {
    const world = buildReadings()
    const { cluster, clock } = world
    const state = { isOpen: true }
    cluster.nodeIds = [1, 2]
    cluster.always('Fetch', async ([{ waitMs, partitions }]: [FetchRequest]) => {
      const offset = partitions[0]?.offset ?? 2
      if (offset === 0) return [fetched(tp, { bytes: buildBatch([0, 1]), stableOffset: 2 })]
      await sleep(clock, waitMs)
      if (state.isOpen) return [fetched(tp, { stableOffset: 2 })]
      return [fetched(tp, { ...(offset === 2 && { bytes: buildBatch([2]) }), highWatermark: 3 })]
    })
    const producers = [
      { producerId: 7n, currentTxnStartOffset: -1n },
      { producerId: 9n, currentTxnStartOffset: 40n },
      { producerId: 8n, currentTxnStartOffset: 2n },
    ]
    cluster.always('DescribeProducers', { topics: [{ partitions: [{ activeProducers: producers }] }] })
    const events: Events['transaction.open'][] = []
    const ended: Events['transaction.ended'][] = []
    world.telemetry.on('transaction.open', event => events.push(event))
    world.telemetry.on('transaction.ended', event => ended.push(event))
    return { ...world, state, events, ended, ...world.read(0) }
  }

  test('that blocks a partition for 30 s is reported once, with its owner and what to do', async () => {
    const { cluster, fetcher, events, ended, state, offsets, pass } = buildBlocked()
    cluster.always('ListTransactions', (_: unknown, { node }: { node: number }) => ({
      transactionStates: node === 2 ? [{ transactionalId: 'billing-1', producerId: 8n }] : [],
    }))
    await pass(29_000, 500)
    expect(events).toEqual([])
    await pass(90_000, 500)
    const text =
      't/0 cannot be read beyond offset 2: billing-1 (producer id 8) has an open transaction. End it there; if that ' +
      'program is gone: kafka-transactions.sh --bootstrap-server BROKER abort --topic t --partition 0 --start-offset 2'
    expect(events).toEqual([{ ...tp, offset: 2, producerId: 8, transactionalId: 'billing-1', error: null }])
    expect(fetcher.openTransactions.lasting).toEqual([{ ...tp, offset: 2, text }])
    state.isOpen = false
    await pass(2_000)
    expect([offsets, fetcher.openTransactions.lasting, ended]).toEqual([[0, 1, 2], [], [tp]])
  })

  test.each(['is released', 'is paused'])('is no longer reported for a reader that %s', async how => {
    const { fetcher, reading, ended, pass } = buildBlocked()
    await pass(32_000, 500)
    expect(fetcher.openTransactions.lasting).toHaveLength(1)
    reading.paused = true
    if (how === 'is released') fetcher.forget(reading)
    else fetcher.read(reading)
    expect([fetcher.openTransactions.lasting, ended]).toEqual([[], [tp]])
  })

  test("is reported without its owner's name if this client may not see it", async () => {
    const { fetcher, events, pass } = buildBlocked()
    await pass(32_000, 500)
    expect(events).toMatchObject([{ producerId: 8, transactionalId: null }])
    expect(fetcher.openTransactions.lasting[0]!.text).toContain(
      'the producer with the id 8 has an open transaction (grant this client Describe on transactional ids',
    )
  })
})
