import { randomBytes } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { coordinatorKinds, findCoordinator } from '../../src/bus/cluster/apis.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { committedOffsets } from '../../src/bus/transactions/committed-offsets.ts'
import { describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics, limitMessages, openKafkajsProducer, plainKafka } from '../support/kafka.ts'
import { readKeysOutside } from '../support/outside/consumer.ts'
import {
  codecsOf,
  joinAlone,
  leave,
  noMember,
  openBrokers,
  openProducer,
  openPublisher,
  readValues,
  sendLateCommits,
  stableOffset,
} from '../support/wire.ts'

let names = 0

/** Topics and a group that no other test uses. */
async function setUp(seeds: string[], { partitions = 4, commands = 4 } = {}) {
  const groupId = `wire-${process.pid}-${++names}`
  const topics = { results: `${groupId}-results`, commands: `${groupId}-commands` }
  await createTopics(seeds, [
    { topic: topics.results, partitions },
    { topic: topics.commands, partitions: commands },
  ])
  const buildRecord = (value: string, overrides: Partial<OutgoingRecord> = {}): OutgoingRecord => ({
    ...{ topic: topics.results, partition: 0, key: Buffer.from(value), value: Buffer.from(value) },
    ...overrides,
  })
  const progress = (offset: number, partition = 0) => ({
    topic: topics.commands,
    partition,
    offset,
    metadata: 'window',
  })
  return { groupId, ...topics, partitions, buildRecord, progress, tp: { topic: topics.commands, partition: 0 } }
}

describeWithJava.each(['4.3.0', '3.9.1'] as const)('transactions on Kafka %s', version => {
  const kafka = ownKafka(() => ({ version }))
  let seeds: string[]
  beforeAll(() => {
    seeds = kafka.brokers
  })

  test('are read as they were written, whatever their records hold', async () => {
    const { groupId, results, progress, tp } = await setUp(seeds, { partitions: 1 })
    const producer = openProducer(seeds, {
      groupId,
      transactionalId: `${groupId}-slot-0`,
      compression: 'gzip',
    })
    const records: OutgoingRecord[] = [
      { topic: results, key: Buffer.from('ключ'), value: Buffer.alloc(3000, 'x') },
      { topic: results, key: null, value: null, headers: { one: 'text', several: [Buffer.of(0, 255), 'b'] } },
      { topic: results, key: Buffer.alloc(0), value: Buffer.alloc(0), headers: {} },
    ]
    await producer.commit({ records: records.slice(0, 1), offsets: [progress(1)], member: noMember })
    await producer.commit({ records: records.slice(1), offsets: [progress(2)], member: noMember })
    const read: unknown[] = []
    const consumer = plainKafka(seeds).consumer({ groupId: `${groupId}-outside` })
    onTestFinished(() => consumer.disconnect())
    await consumer.connect()
    await consumer.subscribe({ topic: results, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message: { key, value, headers } }) => void read.push({ key, value, headers }),
    })
    await vi.waitFor(() => expect(read).toHaveLength(3), { timeout: 60_000 })
    expect(read).toEqual([
      { key: Buffer.from('ключ'), value: Buffer.alloc(3000, 'x'), headers: {} },
      {
        ...{ key: null, value: null },
        headers: { one: Buffer.from('text'), several: [Buffer.of(0, 255), Buffer.from('b')] },
      },
      { key: Buffer.alloc(0), value: Buffer.alloc(0), headers: {} },
    ])
    expect(await stableOffset(openBrokers(seeds), groupId, tp)).toBe(2)
  })

  test.for(['gzip', 'zstd'] as const)("are read by Kafka's own consumer when %s compresses them", async compression => {
    const { groupId, results, buildRecord, progress } = await setUp(seeds, { partitions: 1 })
    const producer = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-0`, compression })
    const keys = Array.from({ length: 12_000 }, (_, i) => String(i))
    const records = keys.map(key => buildRecord(key, { value: Buffer.from('a value '.repeat(10)) }))
    await producer.commit({ records, offsets: [progress(1)], member: noMember })
    expect(await readKeysOutside({ brokers: seeds, topic: results, records: keys.length, version })).toEqual(keys)
    expect([...(await codecsOf(seeds[0]!, results))]).toContain(compression === 'gzip' ? 1 : 4)
  })

  test('of another generation are refused, and none of their records can be read', async () => {
    const { groupId, results, buildRecord, progress, tp } = await setUp(seeds)
    const brokers = openBrokers(seeds)
    const producer = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-0` })
    const member = await joinAlone(brokers, groupId)
    await producer.commit({ records: [buildRecord('mine')], offsets: [progress(1)], member })
    const stranger = { ...member, generation: member.generation + 1 }
    const foreign = { records: [buildRecord('foreign')], offsets: [progress(9)], member: stranger }
    await expect(producer.commit(foreign)).rejects.toMatchObject({ type: 'ILLEGAL_GENERATION' })
    await producer.commit({ records: [buildRecord('mine again')], offsets: [progress(2)], member })
    expect(await readValues(seeds, results)).toEqual(new Map([[0, ['mine', 'mine again']]]))
    expect(await stableOffset(brokers, groupId, tp)).toBe(2)
  })

  test('of a member that lost its partitions are refused, and none of their records can be read', async () => {
    const { groupId, results, buildRecord, progress, tp } = await setUp(seeds)
    const brokers = openBrokers(seeds)
    const zombie = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-0` })
    const heir = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-1` })
    const gone = await joinAlone(brokers, groupId)
    await leave(brokers, gone) // as after its session time-out
    const member = await joinAlone(brokers, groupId)
    await heir.commit({ records: [buildRecord('heir')], offsets: [progress(7)], member })
    const late = { records: [buildRecord('zombie')], offsets: [progress(99)], member: gone }
    await expect(zombie.commit(late)).rejects.toMatchObject({ type: 'UNKNOWN_MEMBER_ID' })
    await heir.abortTransactionOf(`${groupId}-slot-0`)
    expect(await readValues(seeds, results)).toEqual(new Map([[0, ['heir']]]))
    expect(await stableOffset(brokers, groupId, tp)).toBe(7)
  })

  test('of the fencing proof and of barrier writes leave the progress as it is', async () => {
    const { groupId, tp, buildRecord, progress } = await setUp(seeds)
    const producer = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-0` })
    await producer.proveFencing(tp)
    await producer.barrierWrite([tp], () => noMember)
    const brokers = openBrokers(seeds)
    expect(await stableOffset(brokers, groupId, tp)).toBeNull()
    await producer.commit({ records: [buildRecord('a')], offsets: [progress(3)], member: noMember })
    await producer.barrierWrite([tp], () => noMember)
    expect(await stableOffset(brokers, groupId, tp)).toBe(3)
  })

  test('keep their progress when late requests of a fenced producer come meanwhile', async () => {
    const { groupId, tp, progress } = await setUp(seeds)
    const transactionalId = `${groupId}-slot-0`
    const late = await sendLateCommits(seeds, { transactionalId, groupId, offsets: [progress(99)], pauseMs: 3 })
    const brokers = openBrokers(seeds)
    for (let offset = 1; offset <= 10; offset++) {
      const producer = openProducer(seeds, { groupId, transactionalId })
      await producer.commit({ records: [], offsets: [progress(offset)], member: noMember })
      expect(await stableOffset(brokers, groupId, tp)).toBe(offset)
    }
    expect(await late.stop()).toContain('INVALID_PRODUCER_EPOCH')
    expect(await stableOffset(brokers, groupId, tp)).toBe(10)
  })

  test('carry more progress than one request can', async () => {
    const commands = 260
    const { groupId, results, partitions, buildRecord, progress } = await setUp(seeds, { commands })
    const producer = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-0` })
    const all = Array.from({ length: commands }, (_, i) => ({ ...progress(i + 1, i), metadata: 'x'.repeat(4096) }))
    const records = Array.from({ length: partitions }, (_, partition) => buildRecord('result', { partition }))
    await producer.commit({ records, offsets: all, member: noMember })
    expect((await readValues(seeds, results)).size).toBe(partitions)
    const brokers = openBrokers(seeds)
    expect(await stableOffset(brokers, groupId, all[0]!)).toBe(1)
    const found = await committedOffsets(brokers, groupId, all)
    const offsets = new Map(found.map(({ partition, committed }) => [partition, committed?.offset]))
    expect(offsets).toEqual(new Map(all.map(({ partition, offset }) => [partition, offset])))
  })

  test('of a dead process are aborted at once by another process', async () => {
    const { groupId, results, commands, tp, progress } = await setUp(seeds)
    const heir = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-1` })
    await heir.commit({ records: [], offsets: [progress(5, 1)], member: noMember })
    const dead = await openKafkajsProducer(seeds, { transactionalId: `${groupId}-slot-0`, maxInFlightRequests: 1 })
    const transaction = await dead.transaction()
    await transaction.send({ topic: results, messages: [{ value: 'never committed' }] })
    const topics = [{ topic: commands, partitions: [{ partition: 0, offset: '7' }] }]
    await transaction.sendOffsets({ consumerGroupId: groupId, topics })
    const brokers = openBrokers(seeds)
    expect(await heir.ids(`${groupId}-slot-`, 'open')).toEqual([`${groupId}-slot-0`])
    const [held, other] = await committedOffsets(brokers, groupId, [tp, { ...tp, partition: 1 }])
    expect([held!.error?.type, other!.committed?.offset]).toEqual(['UNSTABLE_OFFSET_COMMIT', 5])
    await heir.abortTransactionOf(`${groupId}-slot-0`)
    expect(await stableOffset(brokers, groupId, tp)).toBeNull()
    expect(await heir.ids(`${groupId}-slot-`, 'open')).toEqual([])
    expect(await readValues(seeds, results)).toEqual(new Map())
  })

  test('are not needed by a publisher, which writes each record once although one is refused', async () => {
    const { results, buildRecord, partitions } = await setUp(seeds)
    const publisher = openPublisher(seeds)
    await limitMessages(seeds, results, 20_000)
    const keys = Array.from({ length: 500 }, (_, i) => String(i))
    const [refused] = await Promise.allSettled([
      publisher.publish([buildRecord('large', { value: randomBytes(50_000) })]),
      ...keys.map((key, i) => publisher.publish([buildRecord(key, { partition: i % partitions })])),
    ])
    expect(refused).toMatchObject({ status: 'rejected', reason: { type: 'MESSAGE_TOO_LARGE' } })
    await publisher.publish([buildRecord('last')])
    await publisher.close()
    const values = await readValues(seeds, results)
    for (let partition = 0; partition < partitions; partition++) {
      const own = keys.filter((_, i) => i % partitions === partition)
      expect(values.get(partition)).toEqual(partition === 0 ? [...own, 'last'] : own)
    }
  })
})

describeWithJava('on three brokers', () => {
  const kafka = ownKafka(() => ({ nodes: 3 }))

  test('a producer and a publisher continue when a leader moves', { timeout: 120_000 }, async () => {
    const seeds = kafka.brokers
    const { groupId, results, buildRecord, progress } = await setUp(seeds, { partitions: 3 })
    const producer = openProducer(seeds, { groupId, transactionalId: `${groupId}-slot-0` })
    const publisher = openPublisher(seeds)
    const brokers = openBrokers(seeds)
    const coordinators = await Promise.all(
      Object.values(coordinatorKinds).map(kind => brokers.ask('any', findCoordinator, [kind, [groupId]])),
    )
    const busy = new Set(coordinators.map(({ coordinators }) => coordinators[0]!.nodeId))
    const node = [1, 2, 3].find(id => !busy.has(id))!
    const leadersOf = () => Promise.all([0, 1, 2].map(partition => brokers.leader({ topic: results, partition })))
    const leaders = await vi.waitFor(leadersOf, { timeout: 60_000 }) // a broker may not know the new topic yet
    const partition = leaders.indexOf(node)
    expect(partition).toBeGreaterThanOrEqual(0)

    const stopping = kafka.stopNode(node).then(() => 'stopped')
    let stopped = false
    void stopping.then(() => {
      stopped = true
    })
    let number = 0
    for (let after = 0; after < 20; number++) {
      if (stopped) after++
      const value = String(number)
      await producer.commit({
        records: [buildRecord(value, { partition })],
        offsets: [progress(number + 1)],
        member: noMember,
      })
      await publisher.publish([buildRecord(value, { partition: (partition + 1) % 3 })])
    }
    await stopping
    const values = await readValues(seeds, results)
    const expected = Array.from({ length: number }, (_, i) => String(i))
    expect([values.get(partition), values.get((partition + 1) % 3)]).toEqual([expected, expected])
    await kafka.startNode(node)
  })
})
