import { encodeConsumerProtocolAssignment } from '@platformatic/kafka'
import { describe, expect, test } from 'vitest'
import { ProtocolError, Unanswered } from '../../src/bus/cluster/errors.ts'
import { decodeAssignment, encodeSubscription } from '../../src/bus/membership/assignment-codec.ts'
import { Coordinator, type CoordinatorOptions } from '../../src/bus/membership/coordinator.ts'
import type { GroupError } from '../../src/bus/membership/member.ts'
import { BusUnavailable } from '../../src/bus/port.ts'
import { codeOf, FakeCluster, refusal } from '../support/fake-cluster.ts'

const nothing = { generation: -1, partitions: [] }
const me = { memberId: 'me-1', generation: 4 }
const commands = { topic: 'commands', partition: 2 }
const here = { host: 'host-a', installation: { 'gateway.url': 'https://one', 'topics.results': 'results' } }

function setUp(options: Partial<CoordinatorOptions> = {}) {
  const brokers = new FakeCluster()
  const coordinator = new Coordinator({
    ...{ brokers, clock: brokers.clock, groupId: 'workers', topics: ['commands'], process: 'p1', protocol: 'ours' },
    ...{ sessionTimeoutMs: 10_000 },
    ...options,
  })
  return { brokers, coordinator }
}

const subscriptionOf = (process: string, announcement = here) =>
  encodeSubscription({ topics: ['commands'], process, owned: nothing }, announcement)

/** The coordinator's answer to a join of two members, of which the other leads. */
const joined = (memberId: string) => ({
  ...{ memberId, generationId: 5, leader: 'other-1', skipAssignment: false },
  members: [
    { memberId, metadata: subscriptionOf('p1') },
    { memberId: 'other-1', metadata: Buffer.from('of another program') },
  ],
})

/** The members of a group as the coordinator describes them. */
const described = (groupState: string, protocolData = 'ours', metadata: Buffer[] = []) => ({
  groups: [{ groupState, protocolData, members: metadata.map(memberMetadata => ({ memberMetadata })) }],
})

const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => expect.unreachable('it is not refused'),
    (error: GroupError) => error,
  )

describe('a process that joins', () => {
  test('learns its member id before the join blocks, so that it can leave meanwhile', async () => {
    const { brokers, coordinator } = setUp()
    const named: string[] = []
    const namedWhenAsked: number[] = []
    brokers.next(
      'JoinGroup',
      new ProtocolError(codeOf('MEMBER_ID_REQUIRED'), null, { answer: { memberId: 'me-1' } }),
      () => {
        namedWhenAsked.push(named.length)
        return joined('me-1')
      },
    )
    const owned = { generation: 3, partitions: [commands] }
    const answer = await coordinator.join('', owned, id => void named.push(id))
    expect(namedWhenAsked).toEqual([1])
    expect(new Set(named)).toEqual(new Set(['me-1']))
    expect(answer).toMatchObject({ memberId: 'me-1', generation: 5, leaderId: 'other-1', assigned: false })
    expect(answer.subscriptions.get('me-1')).toMatchObject({ topics: ['commands'], process: 'p1' })
    expect(answer.subscriptions.get('other-1')).toMatchObject({ topics: [], process: null })
    const asked = brokers.of('JoinGroup').map(({ target, fields }) => [target, ...fields.slice(0, 5)])
    const group = { group: 'workers' }
    expect(asked).toEqual([
      [group, 'workers', 10_000, 30_000, '', null],
      [group, 'workers', 10_000, 30_000, 'me-1', null],
    ])
  })

  test.each([
    [6_000, 30_000],
    [40_000, 80_000],
  ])('with a session time-out of %d ms lets others wait for it for %d ms', async (sessionTimeoutMs, waitMs) => {
    const { brokers, coordinator } = setUp({ sessionTimeoutMs })
    brokers.next('JoinGroup', joined('me-1'))
    await coordinator.join('me-1', nothing, () => {})
    expect(brokers.of('JoinGroup').map(({ fields }) => fields.slice(1, 3))).toEqual([[sessionTimeoutMs, waitMs]])
  })

  test.each(['', 'me-1'])('under the id "%s" is told its id by the answer if it needs none before', async id => {
    const { brokers, coordinator } = setUp({ instanceId: 'static' })
    brokers.next('JoinGroup', joined('me-1'))
    const named: string[] = []
    expect(await coordinator.join(id, nothing, one => void named.push(one))).toMatchObject({ memberId: 'me-1' })
    expect(named).toEqual(['me-1'])
    expect(brokers.of('JoinGroup').map(({ fields }) => fields.slice(3, 5))).toEqual([[id, 'static']])
  })

  test('is told how members of another installation differ, as far as the group gives it out', async () => {
    const there = { host: 'host-b', installation: { ...here.installation, 'gateway.url': 'https://two' } }
    const { brokers, coordinator } = setUp({ announcement: here })
    const taken = refusal('INCONSISTENT_GROUP_PROTOCOL')
    const required = new ProtocolError(codeOf('MEMBER_ID_REQUIRED'), null, { answer: { memberId: 'me-1' } })
    brokers.next('JoinGroup', taken, required, taken, taken, taken)
    brokers.always('DescribeGroups', described('Stable', 'theirs', [subscriptionOf('p9', there), Buffer.from('x')]))
    const differs =
      /^the group workers: .*on host-b, are in this group; on host-a, gateway\.url is https:\/\/one here and https:\/\/two there/
    for (const id of ['me-1', '']) {
      const error = await errorOf(coordinator.join(id, nothing, () => {}))
      expect([error.asks, error.message]).toEqual(['taken', expect.stringMatching(differs)])
    }
    const hint = expect.stringContaining('Another program uses this group')
    for (const answer of [described('Stable', 'theirs'), refusal('GROUP_AUTHORIZATION_FAILED')]) {
      brokers.always('DescribeGroups', answer)
      expect(await errorOf(coordinator.join('me-1', nothing, () => {}))).toMatchObject({ asks: 'taken', message: hint })
    }
  })
})

test('what the leader assigns reaches each member, and a member of no busgate leader is refused', async () => {
  const { brokers, coordinator } = setUp()
  brokers.next('SyncGroup', (fields: { 6: { memberId: string; assignment: Buffer }[] }) => ({
    assignment: fields[6].find(({ memberId }) => memberId === 'me-1')!.assignment,
  }))
  const shares = new Map([
    ['me-1', [commands]],
    ['other-1', [{ topic: 'commands', partition: 0 }]],
  ])
  const counts = new Map([['commands', 3]])
  const given = await coordinator.sync(me, { shares, counts, processes: ['p1', 'p2'] })
  expect(given).toEqual({ partitions: [commands], counts, processes: ['p1', 'p2'] })
  const [asked] = brokers.of('SyncGroup')
  expect(asked).toMatchObject({ target: { group: 'workers' } })
  expect(asked!.fields.slice(0, 5)).toEqual(['workers', 4, 'me-1', null, 'consumer'])
  expect(decodeAssignment(asked!.fields[6][1].assignment)).toMatchObject({ partitions: shares.get('other-1') })
  const foreign = { version: 0, assignedPartitions: [{ topic: 'commands', partitions: [2] }], userData: '' }
  brokers.next('SyncGroup', { assignment: encodeConsumerProtocolAssignment(foreign) })
  expect(await errorOf(coordinator.sync(me, null))).toMatchObject({
    asks: 'taken',
    message: expect.stringMatching(/^its members use another protocol\. Another program/),
  })
  expect(brokers.of('SyncGroup')[1]!.fields[6]).toEqual([])
})

describe('the refusal of a heartbeat', () => {
  test.each([
    ['REBALANCE_IN_PROGRESS', 'join', ''],
    ['ILLEGAL_GENERATION', 'join', ''],
    ['UNKNOWN_MEMBER_ID', 'join as new', ''],
    ['FENCED_INSTANCE_ID', 'refused', 'same kafka.instanceId'],
    ['GROUP_AUTHORIZATION_FAILED', 'refused', 'Grant this client the right Read'],
    ['TOPIC_AUTHORIZATION_FAILED', 'refused', ''],
    ['INVALID_SESSION_TIMEOUT', 'refused', 'group.min.session.timeout.ms'],
    ['INVALID_GROUP_ID', 'refused', ''],
    ['GROUP_MAX_SIZE_REACHED', 'taken', 'raise group.max.size'],
    ['UNSUPPORTED_VERSION', 'refused', ''],
    ['NOT_COORDINATOR', 'wait', ''],
  ])('%s means: %s', async (type, asks, hint) => {
    const { brokers, coordinator } = setUp()
    brokers.next('Heartbeat', refusal(type))
    expect(await errorOf(coordinator.heartbeat(me))).toMatchObject({ asks, message: expect.stringContaining(hint) })
    expect(brokers.of('Heartbeat')).toMatchObject([
      { target: { group: 'workers' }, fields: ['workers', 4, 'me-1', null] },
    ])
  })
})

describe('an answer that does not come', () => {
  test.each([
    ['a join', 6_000, 35_000, (one: Coordinator) => one.join('me-1', nothing, () => {})],
    ['a join', 40_000, 85_000, (one: Coordinator) => one.join('me-1', nothing, () => {})],
    ['an assignment', 6_000, 11_000, (one: Coordinator) => one.sync(me, null)],
    ['an assignment', 40_000, 45_000, (one: Coordinator) => one.sync(me, null)],
    ['a heartbeat', 40_000, 4_000, (one: Coordinator) => one.heartbeat(me)],
  ])(
    'to %s is waited for as long as the others may take, with a session time-out of %d ms for %d ms',
    async (_, sessionTimeoutMs, ms, ask) => {
      const { brokers, coordinator } = setUp({ sessionTimeoutMs })
      for (const api of ['JoinGroup', 'SyncGroup', 'Heartbeat']) brokers.always(api, new Promise(() => {}))
      let isOver = false
      const error = errorOf(ask(coordinator)).finally(() => {
        isOver = true
      })
      await brokers.clock.pass(ms - 1)
      expect(isOver).toBe(false)
      await brokers.clock.pass(1)
      expect((await error).asks).toBe('wait')
    },
  )
})

test('a refusal about other members is explained only by a process that has announced itself, and no other refusal is', async () => {
  for (const [type, announced] of [
    ['INCONSISTENT_GROUP_PROTOCOL', false],
    ['GROUP_AUTHORIZATION_FAILED', true],
  ] as const) {
    const { brokers, coordinator } = setUp(announced ? { announcement: here } : {})
    brokers.next('JoinGroup', refusal(type))
    expect((await errorOf(coordinator.join('me-1', nothing, () => {}))).message).toContain(
      type === 'INCONSISTENT_GROUP_PROTOCOL' ? 'Another program' : 'Grant this',
    )
    expect(brokers.of('DescribeGroups')).toEqual([])
  }
})

test('a leave ends once the coordinator has answered, and with its refusal', async () => {
  const { brokers, coordinator } = setUp()
  brokers.next('LeaveGroup', refusal('UNKNOWN_MEMBER_ID'))
  expect((await errorOf(coordinator.leave('me-1'))).asks).toBe('join as new')
})

test('only a member without a fixed name leaves the group when its process ends', async () => {
  const dynamic = setUp()
  await dynamic.coordinator.leave('me-1')
  expect(dynamic.brokers.of('LeaveGroup')).toMatchObject([{ fields: ['workers', [{ memberId: 'me-1' }]] }])
  const fixed = setUp({ instanceId: 'static' })
  await fixed.coordinator.leave('me-1')
  expect(fixed.brokers.asked).toEqual([])
})

test('numbers of partitions are asked anew each time, since topics grow', async () => {
  const { brokers, coordinator } = setUp()
  brokers.onRefresh = () => brokers.counts.set('commands', (brokers.counts.get('commands') ?? 4) + 1)
  expect(await coordinator.partitions(['commands', 'results'])).toEqual(
    new Map([
      ['commands', 5],
      ['results', 4],
    ]),
  )
  expect((await coordinator.partitions(['commands'])).get('commands')).toBe(6)
})

describe('before a process joins', () => {
  test.each([
    ['Empty', false],
    ['Dead', false],
    ['Stable', true],
    ['PreparingRebalance', true],
  ])('a group that is %s has members: %s', async (state, has) => {
    const { brokers, coordinator } = setUp()
    brokers.next('DescribeGroups', described(state))
    expect(await coordinator.hasMembers()).toBe(has)
  })

  test.each([
    ['Stable', 'theirs', true],
    ['Stable', 'ours', false],
    ['Empty', '', false],
  ])('a %s group with the protocol "%s" is refused: %s', async (state, protocol, isRefused) => {
    const { brokers, coordinator } = setUp()
    brokers.always('DescribeGroups', described(state, protocol))
    const error = await coordinator.checkOthers().then(
      () => null,
      ({ asks }) => asks,
    )
    expect(error).toBe(isRefused ? 'taken' : null)
    expect(brokers.of('DescribeGroups')[0]!.fields).toEqual([['workers'], false])
  })

  test('an outage of the coordinator is no refusal', async () => {
    const { brokers, coordinator } = setUp()
    brokers.next('DescribeGroups', new Unanswered('the connection was closed'), refusal('GROUP_AUTHORIZATION_FAILED'))
    await expect(coordinator.hasMembers()).rejects.toThrow(BusUnavailable)
    expect(await errorOf(coordinator.hasMembers())).toMatchObject({ asks: 'refused' })
  })
})
