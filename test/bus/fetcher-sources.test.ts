import { expect, onTestFinished, test } from 'vitest'
import type { Brokers } from '../../src/bus/cluster/brokers.ts'
import { protocolError } from '../../src/bus/cluster/errors.ts'
import type { FetchedPartition, FetchRequest } from '../../src/bus/read/fetch-api.ts'
import { Fetcher } from '../../src/bus/read/fetcher.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { TickBudget } from '../../src/bus/read/tick-budget.ts'
import { sleep } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildBatch } from '../support/batches.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { FetchBroker } from '../support/fetch-broker.ts'

const unknownTopic = protocolError(3)
const notLeader = protocolError(6)
/** Longer than it takes until a leader is looked for again. */
const leaderIsOldMs = 7_000

/** Brokers 1 and 2 lead partitions 0 and 1, and broker 3 nothing. One that is frozen does not answer. */
function build({ rack }: { rack?: string } = {}) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const warnings: string[] = []
  telemetry.on('bus.log', ({ message }) => warnings.push(message))
  const ends = [0, 0]
  const leaders = [1, 2]
  const frozen = new Set<number>()
  /** Brokers that do not answer the request in which they are asked for partition 0. */
  const frozenByMove = new Set<number>()
  const held = new Map<number, PromiseWithResolvers<void>>()
  const nodes = new Map(
    [1, 2, 3].map(node => {
      const value = Buffer.from(`of ${node}`)
      const bytesOf = (from: number, end: number) => {
        const records = Array.from({ length: Math.min(1_000, end - from) }, (_, i) => ({ offset: from + i, value }))
        return records.length > 0 ? buildBatch(records) : Buffer.alloc(0)
      }
      return [node, new FetchBroker({ ends, bytesOf })]
    }),
  )
  /** Where a leader sends those who read from it. */
  const preferred = new Map<number, number>()

  const failing = new Map<number, Error>()

  async function ask(
    { node }: { node: number },
    _api: unknown,
    [request]: [FetchRequest],
  ): Promise<FetchedPartition[]> {
    const error = failing.get(node)
    if (error) throw error
    const broker = nodes.get(node)!
    broker.begin(request)
    const isMove = request.partitions.some(({ tp }) => tp.partition === 0)
    if (frozen.has(node) || (isMove && frozenByMove.delete(node))) {
      held.set(node, Promise.withResolvers())
      await held.get(node)!.promise
    }
    const end = clock.monotonic() + request.waitMs
    while (!broker.hasNews(request) && clock.monotonic() < end) await sleep(clock, 1)
    const preferredReplica = preferred.get(node) ?? -1
    return broker.answer(request).map(one => ({ ...one, preferredReplica }))
  }

  const leader = async ({ partition }: { partition: number }) => leaders[partition]!
  const brokers = { leader, refresh: async () => {}, ask } as unknown as Brokers
  const fetcher = new Fetcher({ brokers, clock, telemetry, rack })
  onTestFinished(() => void fetcher.close())

  function read(partition: number) {
    const taken: string[] = []
    const toldEnds: number[] = []
    const gone: Error[] = []
    const reading: Reading = {
      tp: { topic: 't', partition },
      offset: 0,
      life: 0,
      paused: false,
      take: ({ records, highWatermark }) => {
        taken.push(...records.map(({ value }) => String(value)))
        toldEnds.push(highWatermark)
      },
      cut: () => {},
      gone: error => gone.push(error),
    }
    fetcher.read(reading)
    const beginAnew = () => {
      reading.life++
      fetcher.read(reading)
    }
    return { reading, taken, toldEnds, gone, beginAnew }
  }

  async function pass(ms: number, stepMs = 50) {
    for (let left = ms; left >= 0; left -= stepMs) {
      for (let i = 0; i < 6; i++) await settled()
      await clock.pass(Math.min(left, stepMs))
    }
  }
  const asked = (node: number) =>
    nodes.get(node)!.requests.flatMap(({ partitions }) => partitions.map(({ tp }) => tp.partition))
  const troubleOf = ({ reading }: ReturnType<typeof read>) => fetcher.troubleOf(reading)
  return {
    troubleOf,
    clock,
    failing,
    nodes,
    ends,
    leaders,
    frozen,
    frozenByMove,
    held,
    preferred,
    warnings,
    read,
    pass,
    asked,
  }
}

/** When a broker is asked from now on, in monotonic milliseconds. */
function asksOf({ nodes, clock }: Pick<ReturnType<typeof build>, 'nodes' | 'clock'>, node: number): number[] {
  const askedAt: number[] = []
  const broker = nodes.get(node)!
  const { begin } = broker
  broker.begin = request => {
    askedAt.push(clock.monotonic())
    begin.call(broker, request)
  }
  return askedAt
}

/** The leader of partition 0 hangs, and another one is read from meanwhile. */
async function buildMoved(options?: { rack?: string }) {
  const world = build(options)
  const { frozen, leaders, pass, asked, read } = world
  read(1)
  const reader = read(0)
  await pass(300)
  frozen.add(1)
  await pass(300)
  leaders[0] = 2
  const move = async () => {
    await pass(leaderIsOldMs)
    expect(asked(2)).toContain(0)
  }
  return { ...world, reader, move }
}

test('what the former leader fails with, late, is no trouble of a partition that another one leads now', async () => {
  const { move, reader, warnings, held, ends, pass } = await buildMoved()
  await move()
  held.get(1)!.reject(unknownTopic)
  await pass(0)
  ends[0] = 1
  await pass(300)
  expect(reader.gone).toEqual([])
  expect(warnings).toEqual([])
  expect(reader.taken).toEqual(['of 2'])
})

test('records that the former leader answers, late, are none of a reading that began anew meanwhile', async () => {
  const { move, reader, held, frozenByMove, ends, pass } = await buildMoved()
  reader.beginAnew()
  frozenByMove.add(2)
  await move()
  ends[0] = 1
  held.get(1)!.resolve()
  await pass(300)
  expect(reader.taken).toEqual([])
  held.get(2)!.resolve()
  await pass(300)
  expect(reader.taken).toEqual(['of 2'])
})

test('where the log ends is not told anew by the former leader, which answers late', async () => {
  const { move, reader, held, frozenByMove, pass } = await buildMoved()
  expect(reader.toldEnds).toEqual([0])
  reader.beginAnew()
  frozenByMove.add(2)
  await move()
  held.get(1)!.resolve()
  await pass(300)
  expect(reader.toldEnds).toEqual([0])
})

test('a replica is not left for what the former leader fails with, late', async () => {
  const { move, reader, held, preferred, nodes, ends, pass } = await buildMoved({ rack: 'near' })
  preferred.set(2, 3)
  await move()
  expect(nodes.get(3)!.requests).not.toEqual([])
  held.get(1)!.reject(unknownTopic)
  await pass(300)
  expect(nodes.get(2)!.requests.at(-1)!.rack).toBe('near')
  ends[0] = 1
  await pass(300)
  expect(reader.taken).toEqual(['of 3'])
})

test('a leader that is elected within three seconds is no reason for a warning, and one that is not is told once', async () => {
  const { read, failing, ends, warnings, pass } = build()
  const { taken } = read(0)
  failing.set(1, notLeader)
  await pass(2_000)
  expect(warnings).toEqual([])
  failing.clear()
  ends[0] = 1
  await pass(2_000)
  expect(taken).toEqual(['of 1'])
  failing.set(1, notLeader)
  await pass(20_000)
  expect(warnings).toEqual([expect.stringContaining('cannot read t/0 now')])
})

test('a partition that cannot be read is in trouble after some seconds, until it is read again, or rests', async () => {
  const { read, failing, pass, troubleOf } = build()
  const readers = [read(0), read(1)]
  const troubles = () => readers.map(troubleOf)
  await pass(1_000)
  failing.set(1, new Error('no answer'))
  await pass(2_000)
  expect(troubles()).toEqual([null, null])
  await pass(60_000)
  expect(troubles()).toEqual(['no answer', null])
  readers[0]!.reading.paused = true
  expect(troubles()).toEqual([null, null])
  readers[0]!.reading.paused = false
  failing.clear()
  await pass(3_000)
  expect(troubles()).toEqual([null, null])
})

test('brokers that are read from at a trickle are asked at one time', async () => {
  const world = build()
  const { read, ends, pass } = world
  const askedAt = [1, 2].map(node => asksOf(world, node))
  read(0)
  await pass(20, 1)
  read(1)
  for (let ms = 0; ms < 600; ms++) {
    for (const partition of ends.keys()) ends[partition]!++
    await pass(1, 1)
  }
  const [first, second] = askedAt.map(times => times.slice(-3))
  expect(first).toEqual(second)
  expect(first![2]! - first![1]!).toBe(64)
})

test('beside a backlog that is paused, what comes now and then is fetched every 15 ms', async () => {
  const world = build()
  const { read, ends, pass } = world
  ends[0] = 2_000_000
  const { reading } = read(0)
  read(1)
  await pass(1, 1)
  expect(reading.offset).toBeLessThan(ends[0])
  reading.paused = true
  const askedAt = asksOf(world, 2)
  for (let ms = 0; ms < 300; ms++) {
    ends[1]!++
    await pass(1, 1)
  }
  expect(askedAt.at(-1)! - askedAt.at(-2)!).toBe(15)
})

test('two brokers of which much comes are asked as seldom as one', async () => {
  async function fetchesOf(...partitions: number[]) {
    const { read, nodes, ends, pass } = build()
    for (const partition of partitions) read(partition)
    const goOn = async () => {
      for (let ms = 0; ms < 500; ms++) {
        for (const partition of ends.keys()) ends[partition]! += 10
        await pass(1, 1)
      }
    }
    await goOn()
    const before = nodes.get(1)!.requests.length
    await goOn()
    return nodes.get(1)!.requests.length - before
  }
  expect(await fetchesOf(0, 1)).toBeLessThan(1.5 * (await fetchesOf(0)))
})

/** How much of a backlog is taken in a second, beside another partition of its broker of which one comes now and then. */
async function takenBeside(trickleEveryMs: number): Promise<number> {
  const clock = new ManualClock()
  const ends = [1_000_000, 0]
  const bytesOf = (from: number, end: number) => {
    const count = Math.min(500, end - from)
    return count > 0 ? buildBatch(Array.from({ length: count }, (_, i) => from + i)) : Buffer.alloc(0)
  }
  const broker = new FetchBroker({ ends, bytesOf })
  async function ask(_node: unknown, _api: unknown, [request]: [FetchRequest]) {
    broker.begin(request)
    const end = clock.monotonic() + request.waitMs
    do await sleep(clock, 1)
    while (!broker.hasNews(request) && clock.monotonic() < end)
    return broker.answer(request)
  }
  const brokers = { leader: async () => 1, refresh: async () => {}, ask } as unknown as Brokers
  const fetcher = new Fetcher({ brokers, clock, telemetry: new Telemetry() })
  onTestFinished(() => void fetcher.close())
  const pieces = new TickBudget()
  const taken = [0, 0]
  for (const partition of ends.keys()) {
    const take: Reading['take'] = (fetched, from) =>
      pieces.give(fetched, from, ({ records }) => {
        taken[partition]! += records.length
        return true
      })
    fetcher.read({ tp: { topic: 't', partition }, offset: 0, life: 0, paused: false, take, cut: () => {} })
  }
  for (let ms = 0; ms < 1_000; ms++) {
    if (ms % trickleEveryMs === 0) ends[1]!++
    for (let i = 0; i < 8; i++) await settled()
    await clock.pass(1)
  }
  return taken[0]!
}

test('a backlog is not slowed by a trickle on another partition of its broker', async () => {
  const alone = await takenBeside(Number.POSITIVE_INFINITY)
  expect(await takenBeside(5)).toBeGreaterThan(alone / 2)
})

test('a broker of which much comes does not rest as long as one of which little comes', async () => {
  const world = build()
  const { read, ends, pass } = world
  read(0)
  read(1)
  const askedAt = asksOf(world, 2)
  for (let ms = 0; ms < 600; ms++) {
    if (ms % 10 === 0) ends[0]!++
    ends[1]! += 10
    await pass(1, 1)
  }
  const gaps = askedAt.slice(-10).map((at, i, all) => at - (all[i - 1] ?? at))
  expect(Math.max(...gaps)).toBeLessThanOrEqual(11)
})

test('partitions whose batches do not fit into the memory together come in turn', async () => {
  const clock = new ManualClock()
  const large = Buffer.alloc(40 * 1024 * 1024)
  const batches = new Map<number, Buffer>()
  const bytesOf = (offset: number) => {
    const batch = batches.get(offset) ?? buildBatch([{ offset, value: large }], { packing: 'gzip' })
    batches.set(offset, batch)
    return batch
  }
  const broker = new FetchBroker({ ends: [9, 9, 9, 9], bytesOf })
  const ask = (_node: unknown, _api: unknown, [request]: [FetchRequest]) => broker.ask(request)
  const brokers = { leader: async () => 1, refresh: async () => {}, ask } as unknown as Brokers
  const fetcher = new Fetcher({ brokers, clock, telemetry: new Telemetry() })
  const taken = [0, 0, 0, 0]
  for (const partition of taken.keys()) {
    const tp = { topic: 't', partition }
    const take = () => void taken[partition]!++
    fetcher.read({ tp, offset: 0, life: 0, paused: false, take, cut: () => {} })
  }
  while (taken.reduce((sum, count) => sum + count) < 8) await settled()
  await fetcher.close()
  expect(taken).toEqual([2, 2, 2, 2])
})
