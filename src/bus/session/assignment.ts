import { allPartitions, PartitionMap } from '../partitions.ts'
import type { TopicPartition } from '../port.ts'

/** Assignment is what the leader of a group decides. */
export interface Assignment {
  /** The partitions of each member, by its id. */
  shares: ReadonlyMap<string, readonly TopicPartition[]>
  /** How many partitions each of the group's topics has: who does not lead hears nothing of the others' topics. */
  counts: ReadonlyMap<string, number>
  /** The names of the processes that are members now. */
  processes: readonly string[]
}

/** Given is what a member is told of the leader's decision. */
export interface Given {
  partitions: readonly TopicPartition[]
  /** How many partitions each of the group's topics has. */
  counts: ReadonlyMap<string, number>
  /** The names of the processes that are members now. */
  processes: readonly string[]
}

/** Subscription is what a member tells its leader about itself. */
export interface Subscription {
  topics: readonly string[]
  /** The name of its process; null: it only reads. */
  process: string | null
  owned: Owned
}

/** Owned is what a member was given last. A generation that it slept through may have given that to others. */
export interface Owned {
  generation: number
  partitions: readonly TopicPartition[]
}

/**
 * Leaves each partition with its owner, deals the free ones to the members that read their topic and have fewest, and
 * moves others only from a member that has two more than the one that gets them. Kafka calls this a sticky assignment.
 * @param subscriptions of each member, by its id
 */
export function assignSticky(
  subscriptions: ReadonlyMap<string, Subscription>,
  counts: ReadonlyMap<string, number>,
): Assignment {
  const shares = new Map(
    [...subscriptions.keys()].toSorted().map(memberId => [memberId, new Share(subscriptions.get(memberId)!.topics)]),
  )
  const owners = ownersOf(subscriptions)
  const free: TopicPartition[] = []
  for (const tp of [...counts].flatMap(([topic, count]) => allPartitions(topic, count))) {
    const share = shares.get(owners.get(tp)?.memberId ?? '')
    if (share?.reads(tp.topic)) share.add(tp)
    else free.push(tp)
  }
  const inOrder = [...shares.values()]
  for (const tp of free) lightest(inOrder, tp.topic)?.add(tp)
  evenOut(inOrder, [...counts.keys()])
  const processes = [...subscriptions.values()].flatMap(({ process }) => process ?? [])
  const partitions = [...shares].map(([memberId, share]) => [memberId, share.partitions] as const)
  return { shares: new Map(partitions), counts, processes }
}

/** The member that owns each partition: the last that was given it. Where two members say so of one generation, none. */
function ownersOf(subscriptions: ReadonlyMap<string, Subscription>): PartitionMap<Owner> {
  const owners = new PartitionMap<Owner>()
  for (const [memberId, { owned }] of subscriptions) {
    const { generation } = owned
    for (const tp of owned.partitions) {
      const other = owners.get(tp)
      if (!other || generation > other.generation) owners.set(tp, { memberId, generation })
      else if (generation === other.generation) other.memberId = null
    }
  }
  return owners
}

interface Owner {
  memberId: string | null
  generation: number
}

/** Share is what one member is given. */
class Share {
  /** By topic, of those that it reads. */
  readonly #partitions: Map<string, TopicPartition[]>
  size = 0

  constructor(topics: readonly string[]) {
    this.#partitions = new Map(topics.map(topic => [topic, []]))
  }

  get partitions(): TopicPartition[] {
    return [...this.#partitions.values()].flat()
  }

  reads(topic: string): boolean {
    return this.#partitions.has(topic)
  }

  sizeOf(topic: string): number {
    return this.#partitions.get(topic)!.length
  }

  add(tp: TopicPartition): void {
    this.#partitions.get(tp.topic)!.push(tp)
    this.size++
  }

  /** Takes one of the topic's partitions away: the one that it has had for the shortest time. */
  giveUp(topic: string): TopicPartition {
    this.size--
    return this.#partitions.get(topic)!.pop()!
  }
}

/** A partition of the topic is to move from one member to another. */
interface Move {
  topic: string
  from: Share
  to: Share
}

/** Moves partitions until no member can have more than one more than another that could have one of them. */
function evenOut(shares: readonly Share[], topics: readonly string[]): void {
  for (;;) {
    const moves = topics.flatMap((topic): Move[] => {
      const [from, to] = [heaviest(shares, topic), lightest(shares, topic)]
      return from && to ? [{ topic, from, to }] : []
    })
    const move = first(moves, (one, other) => gap(other) - gap(one) || topicGap(other) - topicGap(one))
    if (!move || gap(move) < 2) return
    move.to.add(move.from.giveUp(move.topic))
  }
}

const gap = ({ from, to }: Move) => from.size - to.size
/** Members of equal size give up what they have most of: so each topic stays spread over the processes. */
const topicGap = ({ topic, from, to }: Move) => from.sizeOf(topic) - to.sizeOf(topic)

const bySize = (topic: string) => (one: Share, other: Share) =>
  one.size - other.size || one.sizeOf(topic) - other.sizeOf(topic)

const lightest = (shares: readonly Share[], topic: string) =>
  first(
    shares.filter(share => share.reads(topic)),
    bySize(topic),
  )

const heaviest = (shares: readonly Share[], topic: string) =>
  first(
    shares.filter(share => share.reads(topic) && share.sizeOf(topic) > 0),
    (one, other) => bySize(topic)(other, one),
  )

/** The first one in an order. */
function first<T>(all: readonly T[], order: (one: T, other: T) => number): T | undefined {
  let found = all[0]
  for (const one of all) if (order(one, found!) < 0) found = one
  return found
}
