import { describe, expect, test } from 'vitest'
import type { Owned } from '../../src/bus/membership/assignment.ts'
import { GroupError, GroupMember, type GroupTransport } from '../../src/bus/membership/member.ts'
import { MemoryGroup } from '../../src/bus/memory/group.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

const away = new Error('connect ECONNREFUSED')

/** A group in memory. The test can delay its requests, and make them fail. */
function buildGroup({ partitions = 2 } = {}) {
  const clock = new ManualClock()
  const group = new MemoryGroup(clock)
  const counts = new Map([['commands', partitions]])

  function buildMember(name: string, topics = ['commands']) {
    /** Called before a request reaches the coordinator, and after its answer. Makes the request fail if it throws. */
    const wire = { onRequest: (_request: string) => {}, onAnswer: (_request: string) => {} }
    const assignments: { partitions: number[]; unbroken: boolean }[] = []
    /** The names of the partitions of each assignment. */
    const assignedNames: string[][] = []
    const warnings: string[] = []
    const telemetry = new Telemetry()
    telemetry.on('bus.log', ({ level, message }) => level === 'warn' && warnings.push(message))
    const requests: string[] = []
    /** What it told the coordinator that it owns, at each join. */
    const told: Owned[] = []
    let drain = Promise.resolve()
    let lookUp = () => Promise.resolve()
    let delay = Promise.resolve()
    const send = async <T>(request: string, ask: () => T | Promise<T>): Promise<T> => {
      requests.push(request)
      await delay
      wire.onRequest(request)
      const answer = await ask()
      wire.onAnswer(request)
      return answer
    }
    const transport: GroupTransport = {
      join: (memberId, owned, named) => {
        told.push(owned)
        return send('join', () =>
          group.join(memberId, { sessionTimeoutMs: 10_000, topics, process: name, owned }, named),
        )
      },
      sync: (of, assignment) => send('sync', () => group.sync(of, assignment)),
      heartbeat: of => send('heartbeat', () => group.heartbeat(of)),
      leave: memberId => send('leave', () => group.leave(memberId)),
      partitions: asked => lookUp().then(() => new Map(asked.map(topic => [topic, counts.get(topic) ?? 0]))),
    }
    const member: GroupMember = new GroupMember({
      transport,
      topics,
      events: {
        joining: () => drain,
        assigned: (tps: readonly TopicPartition[], unbroken) => {
          assignments.push({ partitions: tps.map(({ partition }) => partition).toSorted(), unbroken })
          assignedNames.push(tps.map(({ topic, partition }) => `${topic}/${partition}`).toSorted())
        },
      },
      clock,
      telemetry,
      sessionTimeoutMs: 10_000,
      partitionsAgeMs: 10_000,
    })
    return {
      name,
      member,
      wire,
      assignments,
      assignedNames,
      warnings,
      requests,
      told,
      /** Delays the next join until this work is done. */
      drainBeforeJoin(work: Promise<void>) {
        drain = work
      },
      /** Holds the requests back until this is over. */
      delayRequests(time: Promise<void>) {
        delay = time
      },
      /** Holds the answers about the number of partitions back until this is over. */
      delayLookUp(work: () => Promise<void>) {
        lookUp = work
      },
      get last() {
        return assignments.at(-1)
      },
    }
  }

  /** Members that have joined and know their partitions. */
  async function joined(...names: string[]) {
    const members = names.map(name => buildMember(name))
    for (const { member } of members) void member.join()
    await clock.pass(2_000)
    return members
  }
  return { clock, group, counts, buildMember, joined }
}

describe('a member of a group', () => {
  test('may begin no request once the coordinator does not know it: others have its partitions', async () => {
    const { clock, joined } = buildGroup()
    const [a] = await joined('a')
    expect(a!.member.hasLease).toBe(true)
    a!.wire.onRequest = request => {
      if (request === 'heartbeat') throw new GroupError('join as new', 'UNKNOWN_MEMBER_ID')
    }
    a!.drainBeforeJoin(new Promise(() => {})) // requests in flight
    await clock.pass(1_000)
    expect([a!.member.hasLease, a!.member.isMember]).toEqual([false, false])
  })

  test('owns nothing when it joins for the first time, and tells of what it owns when it joins again', async () => {
    const { joined } = buildGroup()
    const [a] = await joined('a')
    await joined('b')
    expect(a!.told.map(({ generation, partitions }) => [generation, partitions.length])).toEqual([
      [-1, 0],
      [1, 2],
    ])
  })

  test('gets all partitions when it is alone, and shares them with new members', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a] = await joined('a')
    expect(a!.assignments).toEqual([{ partitions: [0, 1], unbroken: false }])
    const b = buildMember('b')
    void b.member.join()
    await clock.pass(2_000)
    expect([a!.last, b.last]).toEqual([
      { partitions: [0], unbroken: true },
      { partitions: [1], unbroken: false },
    ])
  })

  test('keeps its partitions, except those that a new member gets', async () => {
    const { clock, joined, buildMember } = buildGroup({ partitions: 7 })
    const members = await joined('a', 'b')
    const before = members.map(({ last }) => last!.partitions)
    const c = buildMember('c')
    void c.member.join()
    await clock.pass(2_000)
    const during = members.map(({ last }) => last!.partitions)
    expect(before.map(partitions => partitions.filter(one => !during.flat().includes(one)).length)).toEqual([2, 0])
    expect(before.flat().filter(one => !during.flat().includes(one))).toEqual(c.last!.partitions)
    await c.member.leave()
    await clock.pass(2_000)
    for (const [i, { last }] of members.entries()) expect(last!.partitions).toEqual(expect.arrayContaining(during[i]!))
  })

  test('notices a missed generation although the next one assigns it the same partitions', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a] = await joined('a')
    a!.wire.onAnswer = request => {
      if (request !== 'sync') return
      a!.wire.onAnswer = () => {}
      throw away
    }
    void buildMember('b').member.join()
    await clock.pass(12_000)
    expect(a!.assignments).toHaveLength(2)
    expect(a!.last).toMatchObject({ unbroken: false })
  })

  test('has no lease from the moment it joins until the group has answered', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a, b] = await joined('a', 'b')
    expect(a!.member.hasLease).toBe(true)
    let finish = () => {}
    b!.drainBeforeJoin(new Promise(resolve => (finish = resolve)))
    void buildMember('c').member.join()
    await clock.pass(1_500)
    expect(a!.member.hasLease).toBe(false)
    finish()
    await clock.pass(1_500)
    expect(a!.member.hasLease).toBe(true)
  })

  test('sends heartbeats while it drains, so that a long drain loses no partition', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a] = await joined('a')
    let finish = () => {}
    a!.drainBeforeJoin(new Promise(resolve => (finish = resolve)))
    const b = buildMember('b')
    void b.member.join()
    await clock.pass(25_000)
    expect(b.assignments).toEqual([])
    finish()
    await clock.pass(1_000)
    expect([a!.last, b.last]).toMatchObject([{ unbroken: true }, { partitions: [1] }])
  })

  test('waits for an unavailable coordinator, reports it, and gets its partitions back', async () => {
    const { clock, joined } = buildGroup()
    const [a] = await joined('a')
    a!.wire.onRequest = () => {
      throw away
    }
    await clock.pass(300_000)
    expect(a!.member.trouble).toContain('ECONNREFUSED')
    expect(a!.member.hasLease).toBe(false)
    a!.wire.onRequest = () => {}
    await clock.pass(2_000)
    expect(a!.member.trouble).toBeNull()
    expect(a!.member.hasLease).toBe(true)
  })

  test('that the group removed joins again under a new id', async () => {
    const { clock, joined, group } = buildGroup()
    const [a] = await joined('a')
    const name = a!.member.synced.memberId
    group.leave(name)
    await clock.pass(2_000)
    expect(a!.member.synced.memberId).not.toBe(name)
    expect(a!.assignments).toEqual([
      { partitions: [0, 1], unbroken: false },
      { partitions: [0, 1], unbroken: false },
    ])
  })

  test('that leads the group notices partitions that were added', async () => {
    const { clock, joined, counts } = buildGroup()
    const [a] = await joined('a')
    counts.set('commands', 3)
    await clock.pass(15_000)
    expect(a!.last).toEqual({ partitions: [0, 1, 2], unbroken: true })
  })

  test('that leads the group sends heartbeats while a broker is slow to list the partitions', async () => {
    const { clock, joined, counts } = buildGroup()
    const [a] = await joined('a')
    counts.set('commands', 3)
    let answer = () => {}
    a!.delayLookUp(() => new Promise(resolve => (answer = resolve)))
    await clock.pass(30_000)
    expect(a!.member.hasLease).toBe(true)
    a!.delayLookUp(() => Promise.resolve())
    answer()
    await clock.pass(2_000)
    expect(a!.assignments).toHaveLength(2)
    expect(a!.last).toEqual({ partitions: [0, 1, 2], unbroken: true })
  })

  const denied = new GroupError('refused', 'GROUP_AUTHORIZATION_FAILED')
  const refuse = () => {
    throw denied
  }

  test('fails with the reason if its first join is refused', async () => {
    const { buildMember } = buildGroup()
    const a = buildMember('a')
    a.wire.onRequest = refuse
    await expect(a.member.join()).rejects.toBe(denied)
  })

  test('that is refused after it joined retries until it has the lease again', async () => {
    const { clock, joined } = buildGroup()
    const [a] = await joined('a')
    a!.wire.onRequest = refuse
    await clock.pass(60_000)
    expect(a!.member.trouble).not.toBeNull()
    expect(a!.member.hasLease).toBe(false)
    a!.wire.onRequest = () => {}
    await clock.pass(2_000)
    expect(a!.member.trouble).toBeNull()
    expect(a!.member.hasLease).toBe(true)
  })
})

describe('members that consume different topics', () => {
  test('get only partitions of their own topics, even from a leader that consumes other topics', async () => {
    const { clock, counts, buildMember } = buildGroup()
    counts.set('urgent', 2)
    const a = buildMember('a', ['commands'])
    const b = buildMember('b', ['commands', 'urgent'])
    void a.member.join()
    await clock.pass(2_000)
    void b.member.join()
    await clock.pass(2_000)
    expect(a.assignedNames.at(-1)).toEqual(['commands/0', 'commands/1'])
    expect(b.assignedNames.at(-1)).toEqual(['urgent/0', 'urgent/1'])
    expect([a.member.totalPartitions, b.member.totalPartitions]).toEqual([4, 4])
    expect([a.member.unread, b.member.unread]).toEqual([[], []])
  })

  test('get the whole topic when its other consumer leaves', async () => {
    const { clock, counts, buildMember } = buildGroup()
    counts.set('urgent', 2)
    const [a, b, c] = [buildMember('a'), buildMember('b', ['urgent', 'commands']), buildMember('c', ['urgent'])]
    for (const { member } of [a, b, c]) void member.join()
    await clock.pass(2_000)
    await c.member.leave()
    await clock.pass(2_000)
    expect(b.assignedNames.at(-1)).toEqual(['urgent/0', 'urgent/1'])
  })

  test('notice partitions that are added to a topic that their leader does not consume', async () => {
    const { clock, counts, buildMember } = buildGroup()
    counts.set('urgent', 1)
    const [a, b] = [buildMember('a'), buildMember('b', ['urgent'])]
    for (const { member } of [a, b]) void member.join()
    await clock.pass(2_000)
    counts.set('urgent', 2)
    await clock.pass(15_000)
    expect(b.assignedNames.at(-1)).toEqual(['urgent/0', 'urgent/1'])
  })

  test('get the partitions of all topics but one that the leader cannot see, and the consumer of that one reports it', async () => {
    const { clock, buildMember } = buildGroup()
    const [a, b] = [buildMember('a'), buildMember('b', ['commands', 'secret'])]
    for (const { member } of [a, b]) void member.join()
    await clock.pass(2_000)
    expect([a.assignedNames.at(-1), b.assignedNames.at(-1)]).toEqual([['commands/0'], ['commands/1']])
    expect(a.member.unread).toEqual([])
    expect(b.member.unread).toEqual([expect.stringContaining('secret is not read')])
  })
})

describe('a member that leaves while it joins', () => {
  test('for the first time leaves at once, and delays nobody', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a] = await joined('a')
    let finish = () => {}
    a!.drainBeforeJoin(new Promise(resolve => (finish = resolve)))
    const b = buildMember('b')
    const refused = expect(b.member.join()).rejects.toThrow('left')
    await clock.pass(1_500)
    await b.member.leave()
    finish()
    await clock.pass(1_500)
    await refused
    expect(a!.last).toMatchObject({ partitions: [0, 1] })
  })

  test('before it has a member id does not join any more', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a] = await joined('a')
    const b = buildMember('b')
    let arrive = () => {}
    b.delayRequests(new Promise(resolve => (arrive = resolve)))
    const refused = expect(b.member.join()).rejects.toThrow('left')
    await clock.pass(100)
    const left = b.member.leave()
    arrive()
    await clock.pass(12_000)
    await Promise.all([left, refused])
    expect(a!.assignments).toHaveLength(1)
  })
})

test('a member that leaves does not wait for a group that does not answer', async () => {
  const { clock, joined } = buildGroup()
  const [a] = await joined('a')
  a!.delayRequests(new Promise(() => {}))
  const left = a!.member.leave()
  await clock.pass(3_000)
  await left
})

describe('a member that retires', () => {
  test('has no lease and joins no generation, but sends heartbeats until it leaves', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a] = await joined('a')
    a!.member.retire()
    expect(a!.member.hasLease).toBe(false)
    const b = buildMember('b')
    void b.member.join()
    await clock.pass(25_000)
    expect([a!.assignments.length, b.assignments.length]).toEqual([1, 0])
    expect(a!.requests.filter(request => request === 'join')).toHaveLength(1)
    await a!.member.leave()
    await clock.pass(1_000)
    expect(b.last).toMatchObject({ partitions: [0, 1] })
  })

  test('stays a member, even if it leads the group and partitions are added', async () => {
    const { clock, joined, buildMember, counts } = buildGroup()
    const [a] = await joined('a')
    a!.member.retire()
    counts.set('commands', 3)
    const b = buildMember('b')
    void b.member.join()
    await clock.pass(40_000)
    expect(b.assignments).toEqual([])
  })

  test('sends heartbeats after a failed sync, so that results in flight can still be committed', async () => {
    const { clock, joined, buildMember } = buildGroup()
    const [a] = await joined('a')
    const b = buildMember('b')
    a!.wire.onAnswer = request => {
      if (request !== 'sync') return
      a!.wire.onAnswer = () => {}
      a!.member.retire()
      throw away
    }
    void b.member.join()
    await clock.pass(40_000)
    expect(b.assignments).toHaveLength(1)
    await a!.member.leave()
    await clock.pass(2_000)
    expect(b.last).toMatchObject({ partitions: [0, 1] })
  })
})
