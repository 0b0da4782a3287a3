import { expect, test } from 'vitest'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { SendResult } from '../../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../../src/records/registry.ts'
import { schemas, subjectOf } from '../../../src/records/schemas.ts'
import { BrokerWithDamagedBatches, buildDamagedBatch } from '../../support/damaged-batches.ts'
import { laggingRegistry } from '../../support/lagging-registry.ts'
import { buildResult } from '../../support/results.ts'
import { alone, startSendingWorld } from '../../support/sending.ts'

type World = Awaited<ReturnType<typeof startSendingWorld>>

const doubts = { topic: 'doubts', partition: 0 }

/** Commands 1 to 4 are in doubt. The gateway does not tell their status before `told`. */
async function startInDoubt({
  told = Number.POSITIVE_INFINITY,
  registry = embeddedRegistry(),
}: {
  told?: number
  registry?: SchemaRegistry
} = {}) {
  const world = await startSendingWorld({
    registry,
    settings: { gateway: { timeoutMs: 10_000, maxOperations: 1 }, doubts: { policy: 'AT_MOST_ONCE', polls: 2 } },
    takes: ({ operations: [operation], at }) => (operation?.type === 'status' && at < told ? Infinity : 0),
    answer: ([operation]) =>
      operation?.type === 'status' ? null : { kind: 'lost', cause: 'timeout', message: 'lost' },
  })
  for (const id of [1, 2, 3, 4]) world.send(id)
  await world.pass(2_000)
  expect(world.results().map(({ outcome }) => outcome)).toEqual(Array(4).fill('IN_DOUBT'))
  const lost: number[] = []
  world.telemetry.on('doubts.lost', ({ count }) => lost.push(count))
  const { records } = world.broker.read(doubts, 0, 100)
  return { world, lost, doubtOf: (id: number) => records.find(({ key }) => String(key) === String(id))!.offset }
}

const finalsOf = (world: World) =>
  world
    .results()
    .filter(({ final }) => final)
    .map(({ id, outcome, error }) => [Number(id), outcome, error?.includes('was deleted') ?? false])

test('commands whose doubts were deleted while no worker ran end UNRESOLVED, once', async () => {
  const { world, lost, doubtOf } = await startInDoubt()
  await world.takeOver({ meanwhile: () => world.broker.cut(doubts, { start: doubtOf(3) }) })
  await world.pass(5_000)
  expect(finalsOf(world)).toEqual([
    [1, 'UNRESOLVED', true],
    [2, 'UNRESOLVED', true],
  ])
  const [inDoubt, final] = world.results().filter(({ id }) => id === 1n)
  const { outcome, final: _, errorCode, error, completedAt, ...same } = inDoubt!
  expect(final).toMatchObject({ ...same, outcome: 'UNRESOLVED', final: true, errorCode: 'RESPONSE_LOST' })
  expect(lost).toEqual([2])
  await world.takeOver()
  await world.pass(5_000)
  expect(finalsOf(world)).toHaveLength(2)
})

test('a worker that dies before it has ended them leaves them to the next one', async () => {
  const { world, doubtOf } = await startInDoubt()
  await world.takeOver({ meanwhile: () => world.broker.cut(doubts, { start: doubtOf(3) }) })
  for (let i = 0; i < 3; i++) await world.takeOver()
  await world.pass(5_000)
  expect(finalsOf(world).map(([id]) => id)).toEqual([1, 2])
})

test('a worker that finds them, and cannot end them before it dies, leaves them to the next one', async () => {
  const registry = laggingRegistry()
  const { world, doubtOf } = await startInDoubt({ registry })
  registry.only = await registry.idOf('results-value', schemas.result)
  registry.isLagging = true
  await world.takeOver({ meanwhile: () => world.broker.cut(doubts, { start: doubtOf(3) }) })
  await world.pass(5_000)
  expect(finalsOf(world)).toEqual([])
  registry.isLagging = false
  await world.takeOver()
  await world.pass(120_000)
  expect(finalsOf(world).map(([id]) => id)).toEqual([1, 2])
})

test('commands whose doubts are deleted before the running worker has read them end UNRESOLVED, once', async () => {
  const { promise: read, resolve: letRead } = Promise.withResolvers<void>()
  const world = await startSendingWorld({
    settings: { gateway: { timeoutMs: 10_000 }, doubts: { policy: 'AT_MOST_ONCE', polls: 2 } },
    answer: ([operation]) =>
      operation?.type === 'status' ? null : { kind: 'lost', cause: 'timeout', message: 'lost' },
    hop: (step, way) => (way === 'there' && step.startsWith('fetch doubts') ? read : Promise.resolve()),
  })
  for (const id of [1, 2]) world.send(id)
  await world.pass(5_000)
  expect(world.results().map(({ outcome }) => outcome)).toEqual(['IN_DOUBT', 'IN_DOUBT'])
  world.broker.cut(doubts, { start: world.broker.end(doubts) })
  letRead()
  await world.pass(60_000)
  expect(finalsOf(world).toSorted()).toEqual([
    [1, 'UNRESOLVED', true],
    [2, 'UNRESOLVED', true],
  ])
})

test('a command whose result is being committed while others lose their doubts has one final result', async () => {
  const [read, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let [isReading, isCommitting] = [true, true]
  const world = await startSendingWorld({
    settings: { gateway: { timeoutMs: 10_000 }, doubts: { policy: 'AT_MOST_ONCE', polls: 2 } },
    takes: ({ operations }) => (operations[0]!.type === 'status' ? Infinity : 0),
    answer: () => ({ kind: 'lost', cause: 'timeout', message: 'lost' }),
    async hop(step, way) {
      if (!isReading && step.startsWith('fetch doubts')) await read.promise
      if (!isCommitting && way === 'there' && step.startsWith('commit')) await committed.promise
    },
  })
  for (const id of [3, 1]) world.send(id)
  await world.pass(2_000)
  isReading = false
  world.send(2)
  await world.pass(2_000)
  expect(world.results().map(({ outcome }) => outcome)).toEqual(Array(3).fill('IN_DOUBT'))
  isCommitting = false
  world.calledBack(1)
  await world.pass(1_000)
  world.broker.cut(doubts, { start: world.broker.end(doubts) })
  await world.pass(10_000)
  expect(finalsOf(world)).toEqual([])
  committed.resolve()
  read.resolve()
  await world.pass(60_000)
  expect(finalsOf(world).toSorted()).toEqual([
    [1, 'SENT', false],
    [2, 'UNRESOLVED', true],
  ])
})

test('a command that is being sent again while others lose their doubts has one final result', async () => {
  let lose = () => {}
  const posts = new Map<number, number>()
  const world = await startSendingWorld({
    accounts: alone,
    settings: { gateway: { timeoutMs: 1_000 }, doubts: { waitMs: 1_000, polls: 1 } },
    takes: ({ operations: [operation] }) =>
      operation!.type !== 'status' && posts.get(operation!.id) === 1 ? 20_000 : 0,
    answer([operation]) {
      const { type, id } = operation!
      if (type === 'status') return null
      posts.set(id, (posts.get(id) ?? 0) + 1)
      return id < 3 && posts.get(id) === 1 ? { kind: 'lost', cause: 'timeout', message: 'lost' } : null
    },
    hop: async (step, way) => {
      if (way === 'there' && step.startsWith('commit')) lose()
    },
  })
  const { broker } = world
  world.send(1, { delivery: 'AT_LEAST_ONCE' })
  await world.pass(6_000)
  expect(world.postsOf(1)).toBe(2)
  world.send(2, { delivery: 'AT_MOST_ONCE' })
  await world.pass(500)
  expect(world.results().map(({ outcome }) => outcome)).toEqual(['IN_DOUBT', 'IN_DOUBT'])
  lose = () => {
    lose = () => {}
    broker.cut(doubts, { start: broker.end(doubts) })
    throw new Error('no answer')
  }
  world.send(3)
  await world.pass(5_000)
  expect(finalsOf(world)).toEqual([[3, 'SENT', false]])
  await world.pass(60_000)
  expect(finalsOf(world).toSorted()).toEqual([
    [1, 'SENT', false],
    [2, 'UNRESOLVED', true],
    [3, 'SENT', false],
  ])
})

test('commands that a worker has in memory are resolved as usual although their doubts were deleted', async () => {
  const { world, lost, doubtOf } = await startInDoubt({ told: 0 })
  await world.pass(10_000)
  world.broker.cut(doubts, { start: doubtOf(4) + 1 })
  await world.pass(400_000)
  expect(
    finalsOf(world)
      .map(([id, , isDeleted]) => [id, isDeleted])
      .toSorted(),
  ).toEqual([1, 2, 3, 4].map(id => [id, false]))
  expect(lost).toEqual([])
})

test('a group without any progress ends what is in doubt on a topic of doubts that was made anew', async () => {
  const { world, lost } = await startInDoubt()
  await world.stop()
  const end = world.broker.end(doubts)
  world.broker.cut(doubts, { start: end })
  world.broker.resetOffset('busgate', doubts, end)
  await world.startAnother({})
  await world.pass(5_000)
  expect(finalsOf(world).map(([id, outcome]) => [id, outcome])).toEqual([1, 2, 3, 4].map(id => [id, 'UNRESOLVED']))
  expect(lost).toEqual([4])
})

test('commands whose doubts are in a batch that cannot be read end UNRESOLVED', async () => {
  const world = await startSendingWorld({ Broker: BrokerWithDamagedBatches })
  const encode = await createEncoder<SendResult>(subjectOf('results'), schemas.result, world.registry)
  const value = encode(buildResult({ id: 7n, outcome: 'IN_DOUBT', final: false, completedAt: world.clock.now() }))
  world.broker.append([{ topic: 'results', partition: 0, key: '7', value }], world.clock.now())
  await world.pass(2_000)
  expect(finalsOf(world)).toEqual([])
  world.broker.append([{ partition: 0, ...buildDamagedBatch('doubts') }], world.clock.now())
  await world.pass(5_000)
  expect(finalsOf(world)).toEqual([[7, 'UNRESOLVED', true]])
})

test('while brokers do not describe the topics, no command is ended; it is later, and no reader stays behind', async () => {
  const world = await startSendingWorld({ Broker: BrokerWithDamagedBatches })
  const { bus, broker, clock, pass, telemetry } = world
  const [lookAt, read] = [bus.lookAt.bind(bus), bus.read.bind(bus)]
  let isAway = true
  bus.lookAt = async topic => {
    if (isAway && topic === 'doubts') throw new Error('no broker answers')
    return lookAt(topic)
  }
  const open = new Set<unknown>()
  bus.read = async (...query) => {
    const reader = await read(...query)
    const close = reader.close.bind(reader)
    open.add(reader)
    return Object.assign(reader, { close: () => close().then(() => void open.delete(reader)) })
  }
  const told: string[] = []
  telemetry.on('answered.unavailable', ({ error }) => told.push(error.message))
  const encode = await createEncoder<SendResult>(subjectOf('results'), schemas.result, world.registry)
  const value = encode(buildResult({ id: 7n, outcome: 'IN_DOUBT', final: false, completedAt: clock.now() }))
  broker.append([{ topic: 'results', partition: 0, key: '7', value }], clock.now())
  broker.append([{ partition: 0, ...buildDamagedBatch('doubts') }], clock.now())
  await pass(5_000)
  expect([finalsOf(world), told]).toEqual([
    [],
    ['cannot read which commands of doubts lack their doubt: no broker answers'],
  ])
  isAway = false
  await pass(60_000)
  expect([finalsOf(world), open.size]).toEqual([[[7, 'UNRESOLVED', true]], 0])
})

test('no command is ended while the schema of some result is missing, since it may be its final one', async () => {
  const registry = laggingRegistry()
  const { world, doubtOf } = await startInDoubt({ registry })
  registry.only = await registry.idOf('results-value', schemas.result)
  registry.isLagging = true
  await world.takeOver({ meanwhile: () => world.broker.cut(doubts, { start: doubtOf(3) }) })
  await world.pass(120_000)
  expect(finalsOf(world)).toEqual([])
  registry.isLagging = false
  await world.pass(120_000)
  expect(finalsOf(world).map(([id]) => id)).toEqual([1, 2])
})

test('a command whose doubt could not be read, and was deleted later, has one final result', async () => {
  const registry = laggingRegistry()
  const { world } = await startInDoubt({ registry })
  registry.only = await registry.idOf('doubts-value', schemas.doubt)
  registry.isLagging = true
  // an older busgate wrote them
  for (const { headers } of world.broker.read(doubts, 0, 100).records) delete headers['busgate.doubt']
  await world.takeOver()
  await world.pass(60_000)
  const finals = finalsOf(world)
  expect(finals.map(([id, outcome]) => [id, outcome])).toEqual([1, 2, 3, 4].map(id => [id, 'UNRESOLVED']))
  registry.isLagging = false
  const end = world.broker.end(doubts)
  await world.takeOver({
    meanwhile: () => {
      world.broker.cut(doubts, { start: end })
      world.broker.resetOffset('busgate', doubts, end)
    },
  })
  await world.pass(60_000)
  expect(finalsOf(world)).toEqual(finals)
})
