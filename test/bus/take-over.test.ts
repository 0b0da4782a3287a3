import { describe, expect, test } from 'vitest'
import type { Brokers } from '../../src/bus/cluster/brokers.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { KafkaSharedCommits } from '../../src/bus/transactions/shared-commits.ts'
import { sleep } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { codeOf, FakeCluster, refusal } from '../support/fake-cluster.ts'

const groupId = 'group'
const high = 9

function setUp(options: { instanceId?: string } = {}) {
  const cluster = new FakeCluster()
  const { clock } = cluster
  const telemetry = new Telemetry()
  const told: string[] = []
  telemetry.on('bus.log', ({ message }) => told.push(message))
  const member = { synced: { memberId: 'me', generation: 3 }, processes: ['me', 'other'], isMember: true }
  const log = { low: 0, high }
  const commits = new KafkaSharedCommits({
    ...{ brokers: cluster as unknown as Brokers, clock, groupId, process: 'me', compression: 'none', telemetry },
    logs: { ends: async tp => ({ ...tp, ...log }) },
    ...options,
    member,
    limits: new RecordLimits({ ask: async () => 1_048_588, telemetry }),
  })
  return { cluster, clock, commits, member, log, told }
}

test('partitions that are taken over together share one barrier write, however slow the coordinator is', async () => {
  const { cluster, clock, commits } = setUp()
  const tps = Array.from({ length: 64 }, (_, partition) => ({ topic: 'commands', partition }))
  const held = (fields: unknown[]) => cluster.offsets(fields, 'commands/0')
  cluster.next('OffsetFetch', undefined, held, held, held)
  const acquired = Promise.all(tps.map(tp => commits.acquire(tp)))
  for (let asks = 0; asks < 20; asks++) await clock.pass(50)
  expect(cluster.of('TxnOffsetCommit')).toHaveLength(1)
  expect(await acquired).toEqual(
    tps.map(tp => ({ ...tp, committed: null, low: 0, high, topicId: 'first', lacksCommit: false })),
  )
  expect(cluster.of('OffsetFetch')).toHaveLength(5)
})

test('a take-over writes its barrier only once the last commit has settled, which old coordinators would forget', async () => {
  const { cluster, clock, commits } = setUp()
  const held = (fields: unknown[]) => cluster.offsets(fields, 'commands/0')
  cluster.next('OffsetFetch', held, held)
  const acquired = commits.acquire({ topic: 'commands', partition: 0 })
  for (let asks = 0; asks < 10; asks++) await clock.pass(50)
  await acquired
  const steps = cluster.asked.map(({ api }) => api).filter(api => api === 'OffsetFetch' || api === 'TxnOffsetCommit')
  expect(steps).toEqual(['OffsetFetch', 'OffsetFetch', 'OffsetFetch', 'TxnOffsetCommit', 'OffsetFetch'])
})

test('a take-over that waits for the last commit fences the last owner in the generation of the group by then', async () => {
  const { cluster, clock, commits, member } = setUp()
  const held = (fields: unknown[]) => cluster.offsets(fields, 'commands/0')
  cluster.next('OffsetFetch', held, held)
  const acquired = commits.acquire({ topic: 'commands', partition: 0 })
  await clock.pass(5)
  member.synced = { memberId: 'me', generation: 4 }
  for (let asks = 0; asks < 10; asks++) await clock.pass(50)
  await acquired
  expect(cluster.of('TxnOffsetCommit').map(({ fields: [, , , , generation] }) => generation)).toEqual([4])
})

test('a take-over reads the end of the log once the last owner can append no more copies of commands that waited', async () => {
  const { cluster, commits, log } = setUp()
  cluster.next('EndTxn', () => {
    log.high = 12
  })
  expect(await commits.acquire({ topic: 'commands', partition: 0 })).toMatchObject({ high: 12 })
})

test('a take-over fails at once if the coordinator refuses to tell the progress', async () => {
  const { cluster, commits } = setUp()
  cluster.always('OffsetFetch', (fields: unknown[]) => {
    const { groups } = cluster.offsets(fields) as { groups: { topics: { partitions: { errorCode: number }[] }[] }[] }
    for (const one of groups[0]!.topics[0]!.partitions) one.errorCode = codeOf('TOPIC_AUTHORIZATION_FAILED')
    return { groups }
  })
  await expect(commits.acquire({ topic: 'commands', partition: 0 })).rejects.toMatchObject({
    type: 'TOPIC_AUTHORIZATION_FAILED',
  })
})

test('a static member commits under its name', async () => {
  const { cluster, commits } = setUp({ instanceId: 'static' })
  await commits.commit([{ topic: 'commands', partition: 0, records: [], offset: 5, metadata: '' }])
  expect(cluster.of('TxnOffsetCommit').map(({ fields }) => fields.slice(4, 7))).toEqual([[3, 'me', 'static']])
})

test('the hanging transaction of a dead process is aborted, and no transaction of a live one', async () => {
  const { cluster, clock, commits, told } = setUp()
  const [tp, held] = [{ topic: 'commands', partition: 0 }, 'commands/0']
  const endings = () => cluster.of('EndTxn').map(({ fields: [id, , , isCommitted] }) => [id, isCommitted])
  const isHeld = () => !endings().some(([id]) => id === 'group-process/dead')
  cluster.always('OffsetFetch', (fields: unknown[]) => cluster.offsets(fields, isHeld() ? held : ''))
  const ids = ['dead', 'other', 'me'].map(name => ({ transactionalId: `group-process/${name}` }))
  cluster.always('ListTransactions', ([states]: [string[]]) => ({ transactionStates: states.length === 0 ? ids : [] }))
  const acquired = commits.acquire(tp)
  for (let seconds = 0; seconds < 20; seconds += 0.05) await clock.pass(50)
  expect(isHeld()).toBe(true) // brokers are given time to end it by themselves
  for (let seconds = 0; seconds < 20; seconds += 0.05) await clock.pass(50)
  expect(await acquired).toMatchObject({ lacksCommit: true })
  expect(new Map(endings() as [string, boolean][])).toEqual(
    new Map([
      ['group-process/me', false],
      ['group-process/dead', false],
    ]),
  )
  expect(told).toEqual([expect.stringContaining('lost the end of a transaction that committed offsets of commands/0')])
  const written = cluster.of('TxnOffsetCommit').filter(({ fields: [id] }) => id === 'group-process/dead')
  expect(written.map(({ fields }) => fields[7])).toMatchObject([
    [{ name: 'commands', partitions: [{ partitionIndex: 0 }] }],
  ])
})

test('a take-over gives up after a minute if an open transaction, of no dead process, never ends', async () => {
  const { cluster, clock, commits, told } = setUp()
  cluster.always('OffsetFetch', async (fields: unknown[]) => {
    await sleep(clock, 1_000)
    return cluster.offsets(fields, 'commands/0')
  })
  const refused = expect(commits.acquire({ topic: 'commands', partition: 0 })).rejects.toMatchObject({
    type: 'UNSTABLE_OFFSET_COMMIT',
  })
  for (let seconds = 0; seconds < 80; seconds += 0.5) await clock.pass(500)
  await refused
  const last = cluster.asked.at(-1)!.at
  expect([last >= 58_000, last < 65_000, told]).toEqual([true, true, []])
  const known = cluster.of('ListTransactions').filter(({ fields: [states] }) => states.length === 0)
  expect(known.map(({ at }) => at >= 30_000 && at < 35_000)).toEqual([true]) // it looks for hanging ones once
})

test.each([
  ['aborts the open transaction of a process that is no member', 'dead', true, true],
  ['leaves the open transaction of a member alone', 'other', true, false],
  ['leaves the open transaction of another group alone, whose name continues its own', 'a/b', true, false],
  ['aborts nothing when it is no member itself, and so does not know who is', 'dead', false, false],
])('a take-over %s', async (_, name, isMember, isAborted) => {
  const { cluster, commits, member } = setUp()
  member.isMember = isMember
  const open = ['me', name].map(one => ({ transactionalId: `group-process/${one}` }))
  cluster.always('ListTransactions', { transactionStates: open })
  await commits.acquire({ topic: 'commands', partition: 0 })
  const fenced = cluster.of('InitProducerId').map(({ fields: [id] }) => id)
  expect(fenced).toEqual([...(isAborted ? [`group-process/${name}`] : []), 'group-process/me'])
})

test('a commit writes the records of all partitions', async () => {
  const { cluster, commits } = setUp()
  const parts = [0, 1].map(partition => {
    const records = [{ topic: 'results', partition, key: null, value: Buffer.from('result') }]
    return { topic: 'commands', partition, records, offset: 5, metadata: '' }
  })
  await commits.commit(parts)
  const written = cluster.of('Produce').flatMap(({ fields: [{ batches }] }) => batches)
  expect(written.map(({ partition }) => partition).toSorted()).toEqual([0, 1])
})

test.each([
  ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', / Grant this client the rights .* begin with group-\.$/],
  ['CLUSTER_AUTHORIZATION_FAILED', /^(?!.*Grant)/],
])('a process that may not use its transactional id is told which right it needs: %s', async (type, told) => {
  const { cluster, commits } = setUp()
  cluster.always('InitProducerId', refusal(type))
  await expect(commits.proveFencing({ topic: 'commands', partition: 0 })).rejects.toThrow(told)
})

describe('a process that commits and takes partitions over', () => {
  const tp = { topic: 'commands', partition: 0 }
  const part = { ...tp, records: [], offset: 5, metadata: 'window' }

  /** The broker answers the end of the first transaction when the test says so. */
  function setUpSlowly() {
    const world = setUp()
    const answered = Promise.withResolvers<void>()
    world.cluster.next('EndTxn', () => answered.promise)
    return { ...world, answer: answered.resolve }
  }

  test('waits for its commit in flight, and finds its progress', async () => {
    const { commits, clock, answer } = setUpSlowly()
    const committed = commits.commit([part])
    const acquired = commits.acquire(tp)
    await clock.pass(1_000)
    answer()
    await committed
    expect(await acquired).toMatchObject({ committed: { offset: 5, metadata: 'window' } })
  })

  test('commits in the generation in which it decided to, although the group rebalances meanwhile', async () => {
    const { cluster, commits, clock, member, answer } = setUpSlowly()
    const acquired = commits.acquire(tp)
    await clock.pass(100)
    const committed = commits.commit([part])
    member.synced = { memberId: 'me', generation: 4 }
    await clock.pass(1_000)
    answer()
    await Promise.all([acquired, committed])
    const named = cluster.of('TxnOffsetCommit').map(({ fields: [, , , , generation] }) => generation)
    expect(named).toEqual([3, 3]) // the take-over's write, and the commit
  })
})
