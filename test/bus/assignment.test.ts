import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assignSticky, type Subscription } from '../../src/bus/membership/assignment.ts'
import type { TopicPartition } from '../../src/bus/port.ts'

/** A member's topics, one letter each, and the partitions that it owns since a generation, e.g. `a0 b3`. */
const subscription = (topics: string, owned = '', generation = 1): Subscription => ({
  topics: [...topics],
  process: null,
  owned: { generation, partitions: owned.split(' ').filter(Boolean).map(tpOf) },
})

const tpOf = (name: string): TopicPartition => ({ topic: name[0]!, partition: Number(name.slice(1)) })
const nameOf = ({ topic, partition }: TopicPartition) => `${topic}${partition}`

/** The partitions that the leader assigns to each member: `{ M: 'a0 a1' }`. */
function assign(members: Record<string, Subscription>, counts: Record<string, number>): Record<string, string> {
  const { shares } = assignSticky(new Map(Object.entries(members)), new Map(Object.entries(counts)))
  return Object.fromEntries(
    [...shares].map(([memberId, partitions]) => [memberId, partitions.map(nameOf).toSorted().join(' ')]),
  )
}

type Case = [
  name: string,
  counts: Record<string, number>,
  members: Record<string, Subscription>,
  expected: Record<string, string>,
]

describe('the leader of a group', () => {
  const cases: Case[] = [
    [
      'gives a new member partitions of each topic, taken from every owner',
      { a: 4, b: 4 },
      { M: subscription('ab', 'a0 a1 b0 b1'), N: subscription('ab', 'a2 a3 b2 b3'), O: subscription('ab') },
      { M: 'a0 b0 b1', N: 'a2 a3 b2', O: 'a1 b3' },
    ],
    [
      'trusts the newest generation if two members claim a partition',
      { a: 2 },
      { M: subscription('a', 'a0 a1', 4), N: subscription('a', 'a0', 5) },
      { M: 'a1', N: 'a0' },
    ],
    [
      'trusts the newest generation, whoever tells of it first',
      { a: 1 },
      { N: subscription('a', 'a0', 5), M: subscription('a', 'a0', 4) },
      { M: '', N: 'a0' },
    ],
    [
      'spreads each topic over the members',
      { a: 1, b: 2 },
      { M: subscription('ab', 'b0'), N: subscription('ab', 'a0') },
      { M: 'b0', N: 'a0 b1' },
    ],
    ['assigns nothing of a topic that has no partitions', { a: 0 }, { M: subscription('a') }, { M: '' }],
    [
      'reassigns partitions that two members claim since the same generation',
      { a: 4 },
      { M: subscription('a', 'a0 a1 a2 a3'), N: subscription('a', 'a0 a1 a2 a3') },
      { M: 'a0 a2', N: 'a1 a3' },
    ],
    [
      'ignores claims on missing partitions, on topics that the member does not read, and repeated claims',
      { a: 3, b: 1 },
      { M: subscription('a', 'a0 a0 a7 a-1 b0 c0'), N: subscription('ab') },
      { M: 'a0 a2', N: 'a1 b0' },
    ],
    [
      'assigns each topic only to its readers, and nothing to a member without topics',
      { a: 4, b: 2 },
      { M: subscription('a'), N: subscription('ab'), O: subscription('') },
      { M: 'a0 a2 a3', N: 'a1 b0 b1', O: '' },
    ],
    [
      'balances the partitions of a topic among its readers',
      { a: 4, b: 3 },
      { M: subscription('a'), N: subscription('ab', 'a0 a1 a2 b0 b1 b2') },
      { M: 'a1 a2 a3', N: 'a0 b0 b1 b2' },
    ],
    ['does not assign a topic without readers', { a: 1, b: 2 }, { M: subscription('a') }, { M: 'a0' }],
  ]

  test.each(cases)('%s', (_, counts, members, expected) => {
    expect(assign(members, counts)).toEqual(expected)
  })

  test('lists the processes of the members, without members that only read', () => {
    const members = {
      M: { ...subscription('a'), process: 'one' },
      N: subscription('a'),
      O: { ...subscription('a'), process: 'two' },
    }
    expect(assignSticky(new Map(Object.entries(members)), new Map()).processes).toEqual(['one', 'two'])
  })
})

/** A group whose members join and leave one at a time; all of them read all topics. */
class Group {
  readonly counts: ReadonlyMap<string, number>
  readonly members = new Map<string, Subscription>()
  #generation = 0
  #names = 0

  constructor(partitions: readonly number[]) {
    this.counts = new Map(partitions.map((count, i) => [String.fromCharCode(97 + i), count]))
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Adds a member. The names are not in alphabetical order. */
  join(): void {
    this.#names++
    this.members.set(String((this.#names * 7) % 1000), subscription([...this.counts.keys()].join('')))
  }

  /** Assigns. @returns how many partitions have another owner now */
  rebalance(): number {
    const { shares } = assignSticky(this.members, this.counts)
    const before = this.#owners()
    this.#generation++
    for (const [name, partitions] of shares) {
      this.members.set(name, { ...this.members.get(name)!, owned: { generation: this.#generation, partitions } })
    }
    return [...this.#owners()].filter(([partition, owner]) => before.get(partition) !== owner).length
  }

  ownedBy(name: string): number {
    return this.members.get(name)!.owned.partitions.length
  }

  /** The difference between the members with most and with fewest partitions. */
  get spread(): number {
    const sizes = [...this.members.values()].map(({ owned }) => owned.partitions.length)
    return Math.max(...sizes) - Math.min(...sizes)
  }

  /** All assigned partitions; one with two owners is in it twice. */
  assigned(): string[] {
    return [...this.members.values()].flatMap(({ owned }) => owned.partitions.map(nameOf))
  }

  #owners(): Map<string, string> {
    return new Map(
      [...this.members].flatMap(([name, { owned }]) => owned.partitions.map(tp => [nameOf(tp), name] as const)),
    )
  }
}

describe('members that read different topics', () => {
  const topics = fc.subarray(['a', 'b', 'c', 'd'])
  const claims = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(6)).map(tp => tp.join('')))
  const member = fc.tuple(topics, claims, fc.nat(2)).map(([topics, claims, generation]) => {
    return subscription(topics.join(''), claims.join(' '), generation)
  })
  const counts = fc.record({ a: fc.nat(7), b: fc.nat(7), c: fc.nat(7), d: fc.nat(7) })

  test('get all partitions of their topics once, and none has two more than one that could take some', () => {
    fc.assert(
      fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), counts, (members, counts) => {
        const group = Object.fromEntries(members.map((member, i) => [`m${i}`, member]))
        const shares = Object.entries(assign(group, counts)).map(([name, text]) => {
          return { topics: group[name]!.topics, partitions: text.split(' ').filter(Boolean) }
        })
        const read = Object.entries(counts).flatMap(([topic, count]) => {
          const isRead = members.some(({ topics }) => topics.includes(topic))
          return isRead ? Array.from({ length: count }, (_, i) => `${topic}${i}`) : []
        })
        expect(shares.flatMap(({ partitions }) => partitions).toSorted()).toEqual(read.toSorted())
        for (const { topics, partitions } of shares) {
          for (const one of partitions) {
            expect(topics).toContain(one[0])
            const others = shares.filter(({ topics }) => topics.includes(one[0]!))
            for (const other of others) expect(partitions.length - other.partitions.length).toBeLessThan(2)
          }
        }
      }),
    )
  })
})

describe('when members join or leave', () => {
  const partitions = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 })
  const steps = fc.array(fc.oneof(fc.constant('join' as const), fc.nat()), { maxLength: 40 })

  test('a rebalance moves as few partitions as possible, and no member has two more than another', () => {
    fc.assert(
      fc.property(partitions, steps, (counts, steps) => {
        const group = new Group(counts)
        group.join()
        group.rebalance()
        for (const step of steps) {
          let mostMoves: number
          if (step === 'join') {
            group.join()
            mostMoves = Math.ceil(group.total / group.members.size)
          } else {
            if (group.members.size === 1) continue
            const leaver = [...group.members.keys()][step % group.members.size]!
            mostMoves = group.ownedBy(leaver)
            group.members.delete(leaver)
          }
          expect(group.rebalance()).toBeLessThanOrEqual(mostMoves)
          expect(group.assigned().length).toBe(group.total)
          expect(new Set(group.assigned()).size).toBe(group.total)
          expect(group.spread).toBeLessThanOrEqual(1)
          expect(group.rebalance()).toBe(0)
        }
      }),
    )
  })
})
