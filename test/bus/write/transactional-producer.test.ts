import { describe, expect, it, test } from 'vitest'
import { Unanswered } from '../../../src/bus/cluster/errors.ts'
import type { OutgoingRecord } from '../../../src/bus/port.ts'
import { RecordLimits } from '../../../src/bus/record-limits.ts'
import { sizeInBatch } from '../../../src/bus/record-size.ts'
import { type Commit, TransactionalProducer } from '../../../src/bus/transactions/transactional-producer.ts'
import type { ProduceRequest } from '../../../src/bus/write/produce-api.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { describeBatch } from '../../support/batches.ts'
import { settled } from '../../support/clock.ts'
import { FakeCluster, produced, refusal, refusing } from '../../support/fake-cluster.ts'

const commands = { topic: 'commands', partition: 0 }
const member = { memberId: 'me', generation: 3, instanceId: null }

const buildRecord = (key: string, overrides: Partial<OutgoingRecord> = {}): OutgoingRecord => ({
  topic: 'results',
  key: Buffer.from(key),
  value: Buffer.from(`value of ${key}`),
  partition: 0,
  ...overrides,
})

const buildCommit = (overrides: Partial<Commit> = {}): Commit => ({
  records: [buildRecord('a')],
  offsets: [{ ...commands, offset: 5, metadata: 'window' }],
  member,
  ...overrides,
})

async function setUp({ maxMessageBytes = 1_048_588 } = {}) {
  const brokers = new FakeCluster()
  const { clock } = brokers
  const limits = new RecordLimits({ ask: async () => maxMessageBytes, telemetry: new Telemetry() })
  const producer = new TransactionalProducer({
    ...{ brokers, clock, limits, compression: 'none' },
    ...{ transactionalId: 'group-slot-0', groupId: 'group' },
  })
  const names = () => brokers.asked.map(({ api }) => api)
  const sent = () => brokers.of('Produce').map(({ fields: [request] }) => request as ProduceRequest)
  return { brokers, clock, producer, names, sent }
}

/** How a promise ended, without an unhandled rejection in the meantime. */
const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: Error) => error,
  )

/** Whether transactions were committed. */
const endings = (brokers: FakeCluster) => brokers.of('EndTxn').map(({ fields }) => fields[3])

const steps = [['AddPartitionsToTxn', 'AddOffsetsToTxn'], ['TxnOffsetCommit', 'Produce'], ['EndTxn']]

describe('a transaction', () => {
  it('is made in steps, each after the answers to the previous one', async () => {
    const { brokers, producer, names } = await setUp()
    await producer.commit(buildCommit())
    const open = new Map<string, PromiseWithResolvers<void>>()
    for (const api of steps.flat()) {
      const gate = Promise.withResolvers<void>()
      open.set(api, gate)
      brokers.next(api, () => gate.promise)
    }
    const commit = producer.commit(buildCommit())
    const before = brokers.asked.length
    let asked: string[] = []
    for (const step of steps) {
      await settled()
      asked = [...asked, ...step]
      expect(names().slice(before)).toEqual(asked)
      for (const api of step) {
        await settled()
        expect(names().slice(before)).toEqual(asked)
        open.get(api)!.resolve()
      }
    }
    await commit
  })

  it('names each partition that it writes to, and carries offsets under its generation', async () => {
    const { brokers, producer, sent, clock } = await setUp()
    const records = ['a', 'b', 'c'].map((key, i) => buildRecord(key, { partition: i % 2 }))
    await producer.commit(buildCommit({ records, member: { ...member, instanceId: 'static' } }))
    const [id, epoch] = [7n, 10]
    const owner = { transactionalId: 'group-slot-0', producerId: id, producerEpoch: epoch, verifyOnly: false }
    const offset = { partitionIndex: 0, committedOffset: 5n, committedLeaderEpoch: -1, committedMetadata: 'window' }
    const asked = (api: string) => brokers.of(api)[0]!.fields
    expect(asked('AddPartitionsToTxn')).toEqual([[{ ...owner, topics: [{ name: 'results', partitions: [0, 1] }] }]])
    expect(asked('AddOffsetsToTxn')).toEqual(['group-slot-0', id, epoch, 'group'])
    expect(asked('TxnOffsetCommit')).toEqual([
      ...['group-slot-0', 'group', id, epoch, 3, 'me', 'static'],
      [{ name: 'commands', partitions: [offset] }],
    ])
    expect(asked('EndTxn')).toEqual(['group-slot-0', id, epoch, true])
    const attributes = sent().flatMap(({ batches }) => batches.map(({ bytes }) => bytes.readInt16BE(21)))
    expect(attributes).toEqual([0x10, 0x10]) // transactional
    expect(sent()[0]!.batches[0]!.bytes.readBigInt64BE(35)).toBe(BigInt(clock.now()))
  })

  it('commits the progress of many partitions in requests of at most 500 KB', async () => {
    const { brokers, producer } = await setUp()
    const offsets = Array.from({ length: 25 }, (_, partition) => {
      return { ...commands, partition, offset: 1, metadata: 'x'.repeat(49_500) } // with its name it counts as 50,000
    })
    await producer.commit(buildCommit({ offsets }))
    const pieces = brokers.of('TxnOffsetCommit').map(({ fields }) => {
      return fields[7].flatMap(({ partitions }: { partitions: { partitionIndex: number }[] }) =>
        partitions.map(({ partitionIndex }) => partitionIndex),
      )
    })
    expect(pieces.map(({ length }) => length)).toEqual([10, 10, 5])
    expect(pieces.flat()).toEqual(offsets.map(({ partition }) => partition))
  })

  it('without records names no partition', async () => {
    const { producer, names } = await setUp()
    await producer.commit(buildCommit({ records: [] }))
    expect(names()).toEqual(['InitProducerId', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn', 'OffsetFetch'])
  })

  it('is retried while the previous one is still ending', async () => {
    const { brokers, clock, producer } = await setUp()
    for (const api of steps.flat()) if (api !== 'Produce') brokers.next(api, refusal('CONCURRENT_TRANSACTIONS'))
    brokers.next('Produce', refusing({ 'results/0': 'CONCURRENT_TRANSACTIONS' }))
    const commit = producer.commit(buildCommit())
    await clock.pass(100)
    await commit
    for (const api of steps.flat()) expect(brokers.of(api)).toHaveLength(2)
  })

  it('waits for the whole step if a request fails, and sends no further ones', async () => {
    const { brokers, producer, names } = await setUp()
    const gate = Promise.withResolvers<void>()
    brokers.next('Produce', () => gate.promise)
    brokers.next('TxnOffsetCommit', refusal('ILLEGAL_GENERATION'))
    let ended = false
    const outcome = outcomeOf(producer.commit(buildCommit())).finally(() => {
      ended = true
    })
    await settled()
    expect(ended).toBe(false)
    gate.resolve()
    expect(await outcome).toMatchObject({ type: 'ILLEGAL_GENERATION' })
    expect(names()).not.toContain('EndTxn')
  })

  it('that failed is followed by one with a new epoch and sequence numbers from 0', async () => {
    const { brokers, producer, sent } = await setUp()
    await producer.commit(buildCommit())
    brokers.next('EndTxn', new Unanswered('the connection was closed'))
    await expect(producer.commit(buildCommit())).rejects.toThrow('the connection was closed')
    await producer.commit(buildCommit())
    const looks = sent().map(({ batches: [batch] }) => describeBatch(batch!))
    expect(looks.map(({ sequence }) => sequence)).toEqual([0, 1, 0])
    expect(looks[2]!.epoch).not.toBe(looks[1]!.epoch)
  })

  it('begins after the end of the previous one', async () => {
    const { brokers, producer, sent } = await setUp()
    const gate = Promise.withResolvers<void>()
    brokers.next('EndTxn', () => gate.promise)
    const commits = [producer.commit(buildCommit()), producer.commit(buildCommit())]
    await settled()
    expect(sent()).toHaveLength(1)
    gate.resolve()
    await Promise.all(commits)
    expect(sent()).toHaveLength(2)
  })
})

test('a producer that could not be initialised after a failure is initialised by the next commit', async () => {
  const { brokers, producer } = await setUp()
  await producer.commit(buildCommit())
  brokers.next('EndTxn', new Unanswered('the connection was closed'))
  brokers.next('InitProducerId', refusal('TRANSACTIONAL_ID_AUTHORIZATION_FAILED'))
  await expect(producer.commit(buildCommit())).rejects.toThrow('the connection was closed')
  await settled()
  await producer.commit(buildCommit())
  expect(brokers.of('InitProducerId')).toHaveLength(3)
})

describe('a batch', () => {
  const records = [buildRecord('a'), buildRecord('b', { partition: 1 })]

  it('that a leader refuses because it no longer leads is resent unchanged to the new leader', async () => {
    const { brokers, clock, producer, sent } = await setUp()
    brokers.next('Produce', refusing({ 'results/1': 'NOT_LEADER_OR_FOLLOWER' }))
    brokers.onRefresh = () => brokers.setLeader({ topic: 'results', partition: 1 }, 2)
    const commit = producer.commit(buildCommit({ records }))
    await clock.pass(10)
    await commit
    expect(brokers.of('Produce').map(({ target }) => target)).toEqual([{ node: 1 }, { node: 2 }])
    expect(sent()[1]!.batches).toEqual([sent()[0]!.batches[1]])
  })

  it('whose leader does not answer is resent unchanged, and counts as written if the leader already has it', async () => {
    const { brokers, clock, producer, sent } = await setUp()
    brokers.next('Produce', new Unanswered('no answer'), refusing({ 'results/0': 'DUPLICATE_SEQUENCE_NUMBER' }))
    const commit = producer.commit(buildCommit({ records }))
    await clock.pass(10)
    await commit
    expect(sent()[1]!.batches).toEqual(sent()[0]!.batches)
  })

  it('that a leader refuses for too long fails the transaction', async () => {
    const { brokers, clock, producer, names } = await setUp()
    brokers.always('Produce', refusing({ 'results/0': 'LEADER_NOT_AVAILABLE' }))
    const outcome = outcomeOf(producer.commit(buildCommit()))
    await clock.pass(11_000)
    const tries = brokers.of('Produce').length
    expect(tries).toBeGreaterThan(40)
    await clock.pass(1000)
    expect(await outcome).toMatchObject({
      type: 'LEADER_NOT_AVAILABLE',
      message: expect.stringMatching(/^results\/0: /),
    })
    expect(names()).not.toContain('EndTxn')
  })

  it('that a leader refuses permanently fails the transaction at once, although another batch could be retried', async () => {
    const { brokers, producer } = await setUp()
    const codes = { 'results/0': 'NOT_LEADER_OR_FOLLOWER', 'results/1': 'TOPIC_AUTHORIZATION_FAILED' }
    brokers.next('Produce', refusing(codes))
    await expect(producer.commit(buildCommit({ records }))).rejects.toMatchObject({
      type: 'TOPIC_AUTHORIZATION_FAILED',
    })
    expect(brokers.of('Produce')).toHaveLength(1)
  })

  it('that a leader refuses is not resent if the progress was refused as well', async () => {
    const { brokers, clock, producer } = await setUp()
    brokers.next('Produce', refusing({ 'results/0': 'NOT_LEADER_OR_FOLLOWER' }))
    brokers.next('TxnOffsetCommit', refusal('UNKNOWN_MEMBER_ID'))
    const outcome = outcomeOf(producer.commit(buildCommit()))
    await clock.pass(10)
    expect(await outcome).toMatchObject({ type: 'UNKNOWN_MEMBER_ID' })
    expect(brokers.of('Produce')).toHaveLength(1)
  })

  it('that a leader leaves out of its answer is resent', async () => {
    const { brokers, clock, producer, sent } = await setUp()
    brokers.next('Produce', ([request]: [ProduceRequest]) => produced(request).slice(1))
    const commit = producer.commit(buildCommit({ records }))
    await clock.pass(10)
    await commit
    expect(sent()[1]!.batches).toEqual([sent()[0]!.batches[0]])
  })
})

describe('many records', () => {
  const keysOf = ({ batches }: ProduceRequest) => batches.flatMap(one => describeBatch(one).keys)

  it('are sent in requests of at most 5,000 records and 400 KB, in order for each partition', async () => {
    const { producer, sent } = await setUp()
    const records = Array.from({ length: 12_000 }, (_, i) => buildRecord(String(i), { partition: i % 3 }))
    await producer.commit(
      buildCommit({ records: [...records, buildRecord('large', { value: Buffer.alloc(390_000) })] }),
    )
    const requests = sent()
    expect(requests.length).toBeGreaterThanOrEqual(3)
    for (const request of requests) {
      expect(keysOf(request).length).toBeLessThanOrEqual(5000)
      expect(request.batches.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(401_000)
    }
    const first = requests.flatMap(({ batches }) => batches.map(describeBatch)).filter(({ to }) => to === 'results/0')
    expect(first.flatMap(({ keys }) => keys)).toEqual([
      ...records.filter((_, i) => i % 3 === 0).map(({ key }) => String(key)),
      'large',
    ])
    expect(first.map(({ sequence }) => sequence)).toEqual(
      first.map((_, i) => first.slice(0, i).flatMap(({ keys }) => keys).length),
    )
  })

  it.each([2000, 20_000])("are sent in batches below their topic's limit: %i bytes", async maxMessageBytes => {
    const { producer, sent } = await setUp({ maxMessageBytes })
    const records = Array.from({ length: 2000 }, (_, i) =>
      buildRecord(String(i), { headers: { trace: 'x'.repeat(400) }, partition: i % 2 }),
    )
    await producer.commit(buildCommit({ records }))
    const batches = sent().flatMap(request => request.batches)
    expect(batches.flatMap(one => describeBatch(one).keys)).toHaveLength(records.length)
    for (const { bytes } of batches) expect(bytes.length).toBeLessThan(maxMessageBytes)
  })

  it('are sent in several batches if one is too large for its topic: that one is alone in its batch', async () => {
    const { producer, sent } = await setUp({ maxMessageBytes: 5000 })
    const large = buildRecord('large', { value: Buffer.alloc(10_000) })
    expect(sizeInBatch(large)).toBeGreaterThan(5000)
    await producer.commit(buildCommit({ records: [buildRecord('a'), large, buildRecord('b')] }))
    expect(sent().map(keysOf)).toEqual([['a'], ['large'], ['b']])
  })

  it('are distributed by key, and without a key in turn', async () => {
    const { producer, sent } = await setUp()
    const placed = (key: string | null) => {
      const { partition, ...record } = buildRecord('', { key: key === null ? null : Buffer.from(key) })
      return record
    }
    await producer.commit(buildCommit({ records: ['21', '21', null, null, null, null].map(placed) }))
    const looks = sent().flatMap(({ batches }) => batches.map(describeBatch))
    expect(looks.flatMap(({ keys }) => keys).filter(key => key === '21')).toHaveLength(2)
    expect(looks.filter(({ keys }) => keys.includes('21'))).toHaveLength(1)
    expect(looks.map(({ to }) => to).toSorted()).toEqual(['results/0', 'results/1', 'results/2', 'results/3'])
  })
})

describe('a producer', () => {
  it('reads its first committed progress back, and commits it again without records while it is missing', async () => {
    const { brokers, clock, producer, sent } = await setUp()
    brokers.next('TxnOffsetCommit', {}, {}) // the broker keeps nothing of both
    const commit = producer.commit(buildCommit())
    await clock.pass(50)
    await commit
    expect(brokers.progress).toEqual(new Map([['commands/0', { offset: 5, metadata: 'window' }]]))
    expect(endings(brokers)).toEqual([true, true, true])
    expect(sent()).toHaveLength(1)
    await producer.commit(buildCommit())
    expect(brokers.of('OffsetFetch')).toHaveLength(3)
    brokers.next('EndTxn', new Unanswered('the connection was closed'))
    await expect(producer.commit(buildCommit())).rejects.toThrow('the connection was closed')
    await producer.commit(buildCommit())
    expect(brokers.of('OffsetFetch')).toHaveLength(4)
  })

  it('reads its first progress back only when no open transaction can change it', async () => {
    const { brokers, clock, producer } = await setUp()
    brokers.next('OffsetFetch', (fields: unknown[]) => brokers.offsets(fields, 'commands/0'))
    const commit = producer.commit(buildCommit())
    await clock.pass(50)
    await commit
    expect(brokers.of('TxnOffsetCommit')).toHaveLength(1)
  })

  it('commits its first progress again if only its window is missing', async () => {
    const { brokers, clock, producer } = await setUp()
    brokers.progress.set('commands/0', { offset: 5, metadata: 'an older window' })
    brokers.next('TxnOffsetCommit', {})
    const commit = producer.commit(buildCommit())
    await clock.pass(50)
    await commit
    expect(brokers.progress).toEqual(new Map([['commands/0', { offset: 5, metadata: 'window' }]]))
  })

  it.each([
    ['TOPIC_AUTHORIZATION_FAILED', 0],
    ['UNSTABLE_OFFSET_COMMIT', 12_000],
  ])('that cannot read its first progress back fails with the reason: %s, after %d ms', async (type, ms) => {
    const { brokers, clock, producer } = await setUp()
    const partitions = [{ partitionIndex: 0, committedOffset: -1n, metadata: '', errorCode: refusal(type).code }]
    brokers.always('OffsetFetch', { groups: [{ topics: [{ name: 'commands', partitions }] }] })
    const outcome = outcomeOf(producer.commit(buildCommit()))
    await clock.pass(15_000)
    expect(await outcome).toMatchObject({ type })
    const asked = brokers.of('OffsetFetch')
    expect(ms - asked.at(-1)!.at).toBeLessThanOrEqual(50)
    expect(asked.at(-1)!.at).toBeLessThanOrEqual(ms)
    expect(brokers.of('TxnOffsetCommit')).toHaveLength(1)
  })

  it('fails only after seconds if its first progress stays missing', async () => {
    const { brokers, clock, producer } = await setUp()
    brokers.always('TxnOffsetCommit', {})
    const failed = expect(producer.commit(buildCommit())).rejects.toThrow(/group group lost the offsets/)
    await clock.pass(15_000)
    await failed
    expect(brokers.of('TxnOffsetCommit').length).toBeGreaterThan(100)
  })

  it('says what to do if brokers do not check the generation', async () => {
    const { brokers, producer } = await setUp()
    await expect(producer.proveFencing(commands)).rejects.toMatchObject({
      message: expect.stringMatching(/group group .*\(KIP-447\).* use Apache Kafka 3\.0 or newer/),
    })
    expect(endings(brokers)).toEqual([false])
  })

  it('checks the generation again after a member ended its transaction', async () => {
    const { brokers, producer } = await setUp()
    brokers.next('TxnOffsetCommit', refusal('INVALID_PRODUCER_EPOCH'), refusal('ILLEGAL_GENERATION'))
    await producer.proveFencing(commands)
    const noGroupReaches = 2_147_483_646
    expect(brokers.of('TxnOffsetCommit').map(({ fields }) => fields[4])).toEqual([noGroupReaches, noGroupReaches])
    await producer.commit(buildCommit())
  })

  it('checks the generation ten times at most while members end its transactions', async () => {
    const { brokers, producer } = await setUp()
    brokers.always('TxnOffsetCommit', refusal('PRODUCER_FENCED'))
    await expect(producer.proveFencing(commands)).rejects.toMatchObject({ type: 'PRODUCER_FENCED' })
    expect(brokers.of('TxnOffsetCommit')).toHaveLength(10)
  })

  it('accepts only a refused generation as proof that brokers check it', async () => {
    const { brokers, producer } = await setUp()
    brokers.next('TxnOffsetCommit', refusal('GROUP_AUTHORIZATION_FAILED'))
    await expect(producer.proveFencing(commands)).rejects.toMatchObject({ type: 'GROUP_AUTHORIZATION_FAILED' })
  })

  it("aborts another producer's transaction once the coordinator has ended it", async () => {
    const { brokers, clock, producer } = await setUp()
    brokers.next('InitProducerId', refusal('CONCURRENT_TRANSACTIONS'), refusal('NOT_COORDINATOR'))
    let isAborted = false
    const aborted = producer.abortTransactionOf('group-slot-7').then(() => {
      isAborted = true
    })
    await settled()
    expect(isAborted).toBe(false)
    await clock.pass(20)
    await aborted
    const asked = brokers.of('InitProducerId')
    expect(asked.map(({ target, fields: [id] }) => [target, id])).toEqual(
      Array(3).fill([{ transaction: 'group-slot-7' }, 'group-slot-7']),
    )
    await producer.commit(buildCommit())
  })

  it('lists the open transactions of all brokers that support it', async () => {
    const { brokers, producer } = await setUp()
    brokers.nodeIds = [1, 2, 3]
    const listed = (...ids: string[]) => ({
      transactionStates: ids.map(transactionalId => ({ transactionalId, state: 'Ongoing' })),
    })
    brokers.next(
      'ListTransactions',
      listed('group-slot-1', 'group-2-slot-1'),
      refusal('UNSUPPORTED_VERSION'),
      listed('group-slot-2'),
    )
    expect(await producer.ids('group-slot-', 'open')).toEqual(['group-slot-1', 'group-slot-2'])
    await producer.ids('group-slot-', 'known')
    const asked = brokers.of('ListTransactions').map(({ target, fields }) => [target, ...fields])
    const open = ['Ongoing', 'PrepareCommit', 'PrepareAbort', 'PrepareEpochFence']
    expect(asked).toEqual([open, []].flatMap(states => [1, 2, 3].map(node => [{ node }, states, [], -1n, null])))
  })
})
