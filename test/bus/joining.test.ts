import { expect, onTestFinished, test } from 'vitest'
import type { Brokers } from '../../src/bus/cluster/brokers.ts'
import { ProtocolError } from '../../src/bus/cluster/errors.ts'
import type { GroupDriver } from '../../src/bus/driver.ts'
import { joinKafkaGroup, type KafkaGroupOptions } from '../../src/bus/kafka-group.ts'
import { BusUnavailable, type TopicPartition } from '../../src/bus/port.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { codeOf, FakeCluster, refusal } from '../support/fake-cluster.ts'

const tp = { topic: 'commands', partition: 0 }
const announcement = { host: 'host-a', installation: {} }

/** A process and brokers with an empty group. `fenced`: they check the generation of commits. `refused`: why they admit no member. `stuck`: the group assigns nothing. */
function setUp({ fenced = true, refused = '', stuck = false } = {}) {
  const cluster = new FakeCluster()
  const { clock } = cluster
  const telemetry = new Telemetry()
  const closing = new AbortController()
  const assigned: (readonly TopicPartition[])[] = []
  const left: Promise<void>[] = []
  const drivers: GroupDriver[] = []
  const ownership = {
    tag: 'p1',
    attach: async (driver: GroupDriver) => void drivers.push(driver),
    joining: async () => {},
    assigned: (partitions: readonly TopicPartition[]) => void assigned.push(partitions),
  }
  const options = {
    ...{ brokers: cluster as unknown as Brokers, clock, telemetry, announcement, ownership, compression: 'none' },
    ...{ groupId: 'workers', topics: ['commands'], sessionTimeoutMs: 10_000 },
    logs: { ends: async () => ({ low: 3, high: 9 }), offsetAt: async () => 7 },
    fetcher: { forget: () => {} },
    limits: new RecordLimits({ ask: async () => 1_048_588, telemetry }),
    leaving: (leave: Promise<void>) => void left.push(leave),
  } as unknown as KafkaGroupOptions
  cluster.counts.set('commands', 2)
  cluster.always('DescribeGroups', { groups: [{ groupState: 'Empty', protocolData: '', members: [] }] })
  if (fenced) cluster.next('TxnOffsetCommit', refusal('ILLEGAL_GENERATION'))
  cluster.next('JoinGroup', new ProtocolError(codeOf('MEMBER_ID_REQUIRED'), null, { answer: { memberId: 'me-1' } }))
  if (refused) cluster.next('JoinGroup', refusal(refused))
  cluster.next('JoinGroup', ({ 6: [{ metadata }] }: { 6: [{ metadata: Buffer }] }) => ({
    ...{ memberId: 'me-1', generationId: 1, leader: 'me-1', skipAssignment: false },
    members: [{ memberId: 'me-1', metadata }],
  }))
  if (stuck) cluster.next('SyncGroup', new Promise(() => {}))
  cluster.next('SyncGroup', ({ 6: [{ assignment }] }: { 6: [{ assignment: Buffer }] }) => ({ assignment }))
  onTestFinished(() => closing.abort())
  return {
    ...{ cluster, clock, closing, assigned, left },
    join: () => joinKafkaGroup(options, closing.signal),
    driver: () => drivers[0]!,
    asked: () => [...new Set(cluster.asked.map(({ api }) => api))],
  }
}

test('a process joins its group after it has looked for other programs and proved that stale commits are refused', async () => {
  const { join, asked, assigned, driver, cluster } = setUp()
  await join()
  expect(asked().filter(api => /Group|TxnOffset/.test(api))).toEqual([
    'DescribeGroups',
    'TxnOffsetCommit',
    'JoinGroup',
    'SyncGroup',
  ])
  expect(assigned).toEqual([[tp, { ...tp, partition: 1 }]])
  cluster.progress.set('commands/1', { offset: 5, metadata: '' })
  expect(await driver().history('commands')).toEqual([false, true])
  expect(await driver().hasMembers()).toBe(false)
  expect(await driver().ends(tp)).toMatchObject({ low: 3, high: 9 })
  expect(await driver().partition(tp).offsetAt(0)).toBe(7)
  expect(
    await driver()
      .partition({ ...tp, partition: 1 })
      .acquire(),
  ).toMatchObject({ committed: { offset: 5 } })
})

test('a process joins no group whose brokers accept commits of old generations', async () => {
  const { join, asked } = setUp({ fenced: false })
  await expect(join()).rejects.toThrow(/do not check the generation of group workers/)
  expect(asked()).not.toContain('JoinGroup')
})

test.each([
  [
    'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
    /Grant this client the rights .* on transactional ids that begin with workers-\.$/,
  ],
  ['CLUSTER_AUTHORIZATION_FAILED', /^(?!.*Grant this client the rights)/],
])('a process that may not begin transactions (%s) says what to grant', async (type, message) => {
  const { join, cluster } = setUp()
  cluster.next('InitProducerId', refusal(type))
  await expect(join()).rejects.toThrow(message)
})

test('a process that a full group refuses gives its member id back, and may try again', async () => {
  const { join, cluster } = setUp({ refused: 'GROUP_MAX_SIZE_REACHED' })
  await expect(join()).rejects.toThrow(BusUnavailable)
  expect(cluster.of('LeaveGroup').map(({ fields }) => fields)).toEqual([['workers', [{ memberId: 'me-1' }]]])
})

test('a process that its group refuses for its rights or settings is not told to try again', async () => {
  const { join } = setUp({ refused: 'GROUP_AUTHORIZATION_FAILED' })
  await expect(join()).rejects.toMatchObject({ name: 'GroupError', asks: 'refused' })
})

test('a process that is closed before it joins asks for nothing in the name of the group', async () => {
  const { join, asked, closing, left } = setUp()
  closing.abort(new Error('closed'))
  await expect(join()).rejects.toThrow('closed')
  expect([asked(), left]).toEqual([[], []])
})

test('a process that is closed while it joins leaves the group', async () => {
  const { join, cluster, clock, closing, left } = setUp({ stuck: true })
  void join()
  while (cluster.of('SyncGroup').length === 0) await clock.pass(10)
  closing.abort(new Error('closed'))
  await Promise.all(left)
  expect(cluster.of('LeaveGroup').map(({ fields }) => fields)).toEqual([['workers', [{ memberId: 'me-1' }]]])
})
