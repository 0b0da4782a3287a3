import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TopicPartition } from '../../src/bus/port.ts'
import { assignSticky, type Subscription } from '../../src/bus/session/assignment.ts'

/** What a member says: its topics as one letter each, and what it owns, e.g. `a0 b3`, since a generation. */
const says = (topics: string, owned = '', generation = 1): Subscription => ({
  topics: [...topics],
  process: null,
  owned: { generation, partitions: owned.split(' ').filter(Boolean).map(tpOf) },
})

const tpOf = (name: string): TopicPartition => ({ topic: name[0]!, partition: Number(name.slice(1)) })
const nameOf = ({ topic, partition }: TopicPartition) => `${topic}${partition}`

/** What each member is given: `{ M: 'a0 a1' }`. */
function given(members: Record<string, Subscription>, counts: Record<string, number>): Record<string, string> {
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
      'takes from each owner what a newcomer is to have, of each topic some',
      { a: 4, b: 4 },
      { M: says('ab', 'a0 a1 b0 b1'), N: says('ab', 'a2 a3 b2 b3'), O: says('ab') },
      { M: 'a0 b0 b1', N: 'a2 a3 b2', O: 'a1 b3' },
    ],
    [
      'believes who was given a partition last, not a member that slept since',
      { a: 2 },
      { M: says('a', 'a0 a1', 4), N: says('a', 'a0', 5) },
      { M: 'a1', N: 'a0' },
    ],
    [
      'deals anew what two members claim since the same generation',
      { a: 4 },
      { M: says('a', 'a0 a1 a2 a3'), N: says('a', 'a0 a1 a2 a3') },
      { M: 'a0 a2', N: 'a1 a3' },
    ],
    [
      'passes over claims on what is not there, not read or claimed twice',
      { a: 3, b: 1 },
      { M: says('a', 'a0 a0 a7 a-1 b0 c0'), N: says('ab') },
      { M: 'a0 a2', N: 'a1 b0' },
    ],
    [
      'gives each topic to its readers alone, and nothing to who reads none',
      { a: 4, b: 2 },
      { M: says('a'), N: says('ab'), O: says('') },
      { M: 'a0 a2 a3', N: 'a1 b0 b1', O: '' },
    ],
    [
      'evens out among the readers of a topic',
      { a: 4, b: 3 },
      { M: says('a'), N: says('ab', 'a0 a1 a2 b0 b1 b2') },
      { M: 'a1 a2 a3', N: 'a0 b0 b1 b2' },
    ],
    ['gives nobody a topic that nobody reads', { a: 1, b: 2 }, { M: says('a') }, { M: 'a0' }],
  ]

  test.each(cases)('%s', (_, counts, members, expected) => {
    expect(given(members, counts)).toEqual(expected)
  })

  test('names the processes, without those that only read', () => {
    const members = { M: { ...says('a'), process: 'one' }, N: says('a'), O: { ...says('a'), process: 'two' } }
    expect(assignSticky(new Map(Object.entries(members)), new Map()).processes).toEqual(['one', 'two'])
  })
})

/** A group through which members come and go one at a time, all of whom read all topics. */
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

  /** Names come in no order. */
  come(): void {
    this.#names++
    this.members.set(String((this.#names * 7) % 1000), says([...this.counts.keys()].join('')))
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

  /** How often partitions are given. */
  given(): string[] {
    return [...this.members.values()].flatMap(({ owned }) => owned.partitions.map(nameOf))
  }

  #owners(): Map<string, string> {
    return new Map(
      [...this.members].flatMap(([name, { owned }]) => owned.partitions.map(tp => [nameOf(tp), name] as const)),
    )
  }
}

describe('when members come or go', () => {
  const partitions = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 })
  const steps = fc.array(fc.oneof(fc.constant('comes' as const), fc.nat()), { maxLength: 40 })

  test('a rebalance moves only the partitions it must, and leaves all members within one partition of each other', () => {
    fc.assert(
      fc.property(partitions, steps, (counts, steps) => {
        const group = new Group(counts)
        group.come()
        group.rebalance()
        for (const step of steps) {
          let most: number
          if (step === 'comes') {
            group.come()
            most = Math.ceil(group.total / group.members.size)
          } else {
            if (group.members.size === 1) continue
            const leaver = [...group.members.keys()][step % group.members.size]!
            most = group.ownedBy(leaver)
            group.members.delete(leaver)
          }
          expect(group.rebalance()).toBeLessThanOrEqual(most)
          expect(group.given().length).toBe(group.total)
          expect(new Set(group.given()).size).toBe(group.total)
          expect(group.spread).toBeLessThanOrEqual(1)
          expect(group.rebalance()).toBe(0)
        }
      }),
    )
  })
})
