import { describe, expect, test } from 'vitest'
import { type Assignment, assignSticky, type Given } from '../../src/bus/membership/assignment.ts'
import { GroupError, GroupMember, type GroupTransport, type MemberOf } from '../../src/bus/membership/member.ts'
import { sleep } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { anHour, ManualClock, settled } from '../support/clock.ts'

const topics = ['commands']
const subscription = { topics, process: 'p1', owned: { generation: -1, partitions: [] } }

/** A member whose coordinator is the test. It is alone in its group and leads it, unless the test answers otherwise. */
function setUp({ sessionTimeoutMs = 10_000 } = {}) {
  const clock = new ManualClock(anHour)
  const telemetry = new Telemetry()
  const logged: string[] = []
  telemetry.on('bus.log', ({ level, message }) => logged.push(`${level}: ${message}`))
  const assigned: boolean[] = []
  const counts = new Map([['commands', 2]])
  /** What the coordinator holds and answers. */
  const group = {
    generation: 0,
    leaderId: 'me',
    memberId: 'me',
    /** When a join may begin. */
    drained: Promise.resolve() as Promise<void>,
    /** Whether the coordinator keeps the assignment of a leader that comes back. */
    assigned: false,
    given: null as Given | null,
    lookUp: async () => new Map(counts),
  }
  /** Errors of the next requests, by their kind. */
  const failures: Record<string, (Error | null)[]> = { join: [], sync: [], heartbeat: [], leave: [] }
  /** Until when the requests of a kind wait for their answers. */
  const held: Partial<Record<string, Promise<void>>> = {}
  /** The requests: when, what, and in whose name. */
  const requests: string[] = []
  const assignments: (Assignment | null)[] = []
  const ask = async (what: string, memberId = '', generation?: number) => {
    requests.push(`${clock.elapsed} ${what} ${memberId}${generation === undefined ? '' : `@${generation}`}`.trim())
    await held[what]
    const failure = failures[what]?.shift()
    if (failure) throw failure
  }
  const transport: GroupTransport = {
    async join(memberId, _, named) {
      await ask('join', memberId)
      const { memberId: given, leaderId, assigned } = group
      named(given)
      const leads = leaderId === 'me'
      const subscriptions = new Map(leads ? [[given, subscription]] : [])
      return {
        memberId: given,
        generation: ++group.generation,
        leaderId: leads ? given : leaderId,
        subscriptions,
        assigned,
      }
    },
    async sync({ memberId, generation }: MemberOf, assignment) {
      await ask('sync', memberId, generation)
      assignments.push(assignment)
      const made = assignment && { ...assignment, partitions: assignment.shares.get(memberId)! }
      group.given = made ?? group.given ?? { partitions: [], counts: new Map(counts), processes: ['p0'] }
      return group.given
    },
    heartbeat: ({ memberId, generation }) => ask('heartbeat', memberId, generation),
    leave: memberId => ask('leave', memberId),
    async partitions() {
      await ask('look up')
      return group.lookUp()
    },
  }
  const member: GroupMember = new GroupMember({
    ...{ transport, topics, clock, telemetry, sessionTimeoutMs, partitionsAgeMs: 10_000 },
    events: { joining: () => group.drained, assigned: (_, unbroken) => void assigned.push(unbroken) },
  })
  return {
    ...{ clock, member, group, counts, failures, held, requests, assignments, assigned, logged },
    /** The times of the requests of one kind. */
    timesOf: (what: string) => requests.filter(one => one.includes(` ${what}`)).map(one => Number(one.split(' ')[0])),
  }
}

describe('a member of a group', () => {
  test('joins, learns the number of partitions, and is assigned', async () => {
    const { member, clock, requests, assignments, counts } = setUp()
    const joined = member.join()
    await clock.pass(0)
    await joined
    expect(requests).toEqual(['0 join', '0 look up', '0 sync me@1'])
    expect(assignments).toEqual([assignSticky(new Map([['me', subscription]]), counts)])
    expect([member.processes, member.totalPartitions, member.unread]).toEqual([['p1'], 2, []])
    expect(member.synced).toMatchObject({ memberId: 'me', generation: 1 })
  })

  test.each([
    [10_000, [500, 1_000, 1_500]],
    [900, [300, 600, 900]],
  ])('with a session time-out of %d ms sends heartbeats at %o', async (sessionTimeoutMs, times) => {
    const { member, clock, timesOf } = setUp({ sessionTimeoutMs })
    void member.join()
    await clock.pass(times.at(-1)!)
    expect(timesOf('heartbeat')).toEqual(times)
  })

  test.each([
    [6_000, 6_000],
    [40_000, 10_000],
  ])(
    'with a session time-out of %d ms may begin requests for %d ms after the last answer',
    async (sessionTimeoutMs, ms) => {
      const { member, clock, held } = setUp({ sessionTimeoutMs })
      held.heartbeat = new Promise(() => {})
      void member.join()
      await clock.pass(ms - 1)
      expect([member.hasLease, member.isMember]).toEqual([true, true])
      await clock.pass(1)
      expect([member.hasLease, member.isMember]).toEqual([false, false])
    },
  )

  const warning = 'warn: the coordinator of the group: no answer'
  const recovery = 'info: the coordinator of the group answers again'
  const rejoined = ['600 look up', '600 sync me@2']
  const retried = ['700 heartbeat me@1', '1200 heartbeat me@1']
  test.each([
    ['join', true, ['600 join me', ...rejoined], []],
    ['join as new', false, ['600 join', ...rejoined], []],
    ['wait', true, retried, [warning, recovery]],
    ['taken', false, retried, [warning, recovery]],
    ['refused', false, retried, [warning, recovery]],
  ] as const)(
    'whose heartbeat is refused with "%s" may begin requests: %o, and asks next: %o',
    async (asks, may, next, told) => {
      const { member, clock, group, failures, requests, logged } = setUp()
      void member.join()
      await clock.pass(400)
      group.drained = sleep(clock, 200)
      failures.heartbeat!.push(new GroupError(asks, 'no answer'))
      await clock.pass(100)
      expect([member.hasLease, member.trouble]).toEqual([may, told.length > 0 ? warning.slice('warn: '.length) : null])
      await clock.pass(700)
      expect(requests.slice(4, 4 + next.length)).toEqual(next)
      expect([member.hasLease, member.trouble]).toEqual([true, null])
      expect(logged).toEqual(told)
    },
  )

  test.each([
    ['join', ['0 join me', '0 look up', '0 sync me@2']],
    ['join as new', ['200 join', '200 look up', '200 sync me@2']],
    ['wait', ['200 join me', '200 look up', '200 sync me@2']],
  ] as const)('whose first sync is refused with "%s" joins again: %o', async (asks, next) => {
    const { member, clock, failures, requests } = setUp()
    failures.sync!.push(new GroupError(asks, 'no answer'))
    const joined = member.join()
    await clock.pass(300)
    await joined
    expect(requests.slice(3, 6)).toEqual(next)
  })

  test.each(['taken', 'refused'] as const)(
    'that is %s before its first assignment gives up; later it retries',
    async asks => {
      const error = new GroupError(asks, 'not you')
      const early = setUp()
      early.failures.join!.push(error)
      await expect(early.member.join()).rejects.toBe(error)
      expect([early.requests, early.clock.pending]).toEqual([['0 join'], 0])
      const later = setUp()
      void later.member.join()
      await later.clock.pass(400)
      later.failures.heartbeat!.push(new GroupError('join', 'a rebalance'))
      later.failures.join!.push(error, new Error('not an answer'))
      await later.clock.pass(600)
      expect(later.timesOf('join')).toEqual([0, 500, 700, 900])
      expect(later.member.hasLease).toBe(true)
      expect(later.logged).toEqual([
        'warn: the coordinator of the group: not you',
        'warn: the coordinator of the group: not an answer',
        recovery,
      ])
    },
  )

  test('tells once of an outage that lasts, and that it is over', async () => {
    const { member, clock, failures, logged } = setUp()
    void member.join()
    await clock.pass(400)
    const broken = new Error('no answer')
    failures.heartbeat!.push(broken, broken, broken)
    await clock.pass(5_000)
    expect(logged).toEqual([warning, recovery])
  })

  test('sends one heartbeat after the other while it drains, however slow the coordinator is', async () => {
    const { member, clock, group, failures, held, timesOf } = setUp()
    void member.join()
    await clock.pass(400)
    group.drained = new Promise(() => {})
    failures.heartbeat!.push(new GroupError('join', 'a rebalance'))
    await clock.pass(200)
    held.heartbeat = sleep(clock, 3_000)
    await clock.pass(4_000)
    expect(timesOf('heartbeat')).toEqual([500, 1_000, 4_100, 4_600])
  })

  test('that retires while it drains joins no further generation, and sends heartbeats until it leaves', async () => {
    const { member, clock, group, failures, timesOf } = setUp()
    void member.join()
    await clock.pass(400)
    group.drained = sleep(clock, 300)
    failures.heartbeat!.push(new GroupError('join', 'a rebalance'))
    await clock.pass(200)
    member.retire()
    await clock.pass(1_600)
    expect([timesOf('join'), timesOf('heartbeat')]).toEqual([[0], [500, 1_200, 1_700, 2_200]])
  })

  test('knows from consecutive generations under one id that nobody else had its partitions', async () => {
    const { member, clock, group, failures, assigned } = setUp()
    void member.join()
    const rebalance = async (asks: GroupError['asks']) => {
      failures.heartbeat!.push(new GroupError(asks, 'a rebalance'))
      await clock.pass(1_000)
    }
    await clock.pass(0)
    await rebalance('join')
    group.generation++ // of which it has not heard
    await rebalance('join')
    await rebalance('join')
    group.memberId = 'me again'
    await rebalance('join as new')
    expect(assigned).toEqual([false, true, false, true, false])
  })
})

describe('the number of partitions', () => {
  test('is asked for by the leader once in ten seconds, whatever the outcome', async () => {
    const { member, clock, group, timesOf } = setUp()
    void member.join()
    await clock.pass(400)
    group.lookUp = async () => {
      throw new Error('no broker answers')
    }
    await clock.pass(31_600)
    expect(timesOf('look up')).toEqual([0, 10_500, 21_000, 31_500])
    expect(timesOf('join')).toEqual([0])
  })

  test('is asked for by no other member', async () => {
    const { member, clock, group, timesOf, assignments } = setUp()
    group.leaderId = 'other'
    group.given = { partitions: [], counts: new Map([['commands', 7]]), processes: [] }
    void member.join()
    await clock.pass(30_000)
    expect([timesOf('look up'), timesOf('join'), assignments]).toEqual([[0], [0], [null]])
    expect(member.totalPartitions).toBe(7)
  })

  test('makes the leader assign anew as soon as it has changed', async () => {
    const { member, clock, counts, timesOf } = setUp()
    void member.join()
    await clock.pass(400)
    counts.set('commands', 3)
    await clock.pass(20_000)
    expect(timesOf('join')).toEqual([0, 11_000])
    expect(member.totalPartitions).toBe(3)
  })

  test.each([[[['commands', 1]]], [[]]] as const)(
    'is compared with the assignment that the coordinator kept for a leader that comes back: %o',
    async kept => {
      const { member, clock, group, assignments, timesOf } = setUp()
      Object.assign(group, {
        assigned: true,
        given: { partitions: [], counts: new Map(kept), processes: [] },
      })
      void member.join()
      await clock.pass(400)
      expect(assignments).toEqual([null])
      group.assigned = false
      await clock.pass(1_000)
      expect(timesOf('join')).toEqual([0, 500])
      expect(member.totalPartitions).toBe(2)
    },
  )

  test('does not count if it was asked for before the last rebalance', async () => {
    const { member, clock, counts, group, failures, timesOf } = setUp()
    void member.join()
    await clock.pass(10_400)
    const slow = Promise.withResolvers<Map<string, number>>()
    group.lookUp = () => slow.promise
    await clock.pass(200)
    counts.set('commands', 3)
    group.lookUp = async () => new Map(counts)
    failures.heartbeat!.push(new GroupError('join', 'a rebalance'))
    await clock.pass(500)
    slow.resolve(new Map(counts))
    await clock.pass(5_000)
    expect(timesOf('join')).toEqual([0, 11_000])
  })
})

describe('a member that leaves', () => {
  test('may begin no request, and ends once the coordinator knows, whatever it answers', async () => {
    for (const failure of [null, new Error('no answer')]) {
      const { member, clock, held, failures, requests } = setUp()
      void member.join()
      await clock.pass(400)
      const answered = Promise.withResolvers<void>()
      held.leave = answered.promise
      failures.leave!.push(failure)
      let isOver = false
      const left = member.leave().finally(() => {
        isOver = true
      })
      expect(member.hasLease).toBe(false)
      await clock.pass(2_900)
      expect(isOver).toBe(false)
      answered.resolve()
      await left
      await settled()
      expect([requests.slice(3), clock.pending]).toEqual([['400 leave me'], 0])
    }
  })

  test.each(['drain', 'join', 'look up', 'sync'])('during its first %s gets no partition', async stage => {
    const { member, clock, group, held, timesOf, assigned } = setUp()
    const answered = Promise.withResolvers<void>()
    if (stage === 'drain') group.drained = answered.promise
    else held[stage] = answered.promise
    const refused = expect(member.join()).rejects.toThrow('the process left the group while it was joining')
    await clock.pass(400)
    void member.leave()
    answered.resolve()
    await clock.pass(10_000)
    await refused
    const hasAsked = stage !== 'drain'
    expect([assigned, member.hasLease]).toEqual([[], false])
    expect([timesOf('leave'), timesOf('heartbeat')]).toEqual([hasAsked ? [400] : [], []])
  })

  test('after a join that failed does not tell anybody', async () => {
    const { member, clock, failures, requests } = setUp()
    failures.join!.push(new Error('no answer'))
    member.join().catch(() => {})
    await clock.pass(100)
    await member.leave()
    expect(requests).toEqual(['0 join'])
  })

  test('before it has asked for anything does not tell anybody', async () => {
    const { member, requests } = setUp()
    await member.leave()
    expect(requests).toEqual([])
  })

  test.each([
    ['without telling anybody, once it has partitions', 400, ['0 join', '0 look up', '0 sync me@1']],
    ['and tells the coordinator, before it has any', 0, ['0 join', '0 look up', '0 leave me']],
  ])('because its process is closed ends %s', async (_, ms, asked) => {
    const { member, clock, group, requests } = setUp()
    if (ms === 0) group.lookUp = () => new Promise(() => {})
    member.join().catch(() => {})
    await clock.pass(ms)
    await member.close()
    expect([requests, member.hasLease, clock.pending]).toEqual([asked, false, 0])
  })
})
