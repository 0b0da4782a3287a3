import { allPartitions, PartitionMap } from '../partitions.ts'
import type { TopicPartition } from '../port.ts'

/** One member's part of the assignment. */
export interface Given {
  partitions: readonly TopicPartition[]
  /**
   * Number of partitions of each of the group's topics. Members need it because only the leader learns of topics that others
   * subscribe to.
   */
  counts: ReadonlyMap<string, number>
  /** Names of the processes in the group. */
  processes: readonly string[]
}

/** The assignment of a whole group, as decided by its leader. */
export interface Assignment extends Omit<Given, 'partitions'> {
  /** Partitions by member id. */
  shares: ReadonlyMap<string, readonly TopicPartition[]>
}

export interface Subscription {
  topics: readonly string[]
  /** Name of the process; null for a member that only reads. */
  process: string | null
  owned: Owned
}

/** The member's last assignment. If it missed a generation, others may have owned these partitions since. */
export interface Owned {
  generation: number
  partitions: readonly TopicPartition[]
}

/**
 * Sticky assignment. Each partition stays with its owner. Free partitions go to the members with the fewest that subscribe to
 * the topic. Another partition moves only if its owner has at least two more than the member that gets it.
 * @param subscriptions by member id
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

/** The owner of each partition: the claim of the latest generation. Two claims of the same generation cancel each other. */
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

class Share {
  readonly #partitions: Map<string, TopicPartition[]>

  constructor(topics: readonly string[]) {
    this.#partitions = new Map(topics.map(topic => [topic, []]))
  }

  get partitions(): TopicPartition[] {
    return [...this.#partitions.values()].flat()
  }

  get size(): number {
    return this.partitions.length
  }

  reads(topic: string): boolean {
    return this.#partitions.has(topic)
  }

  sizeOf(topic: string): number {
    return this.#partitions.get(topic)!.length
  }

  add(tp: TopicPartition): void {
    this.#partitions.get(tp.topic)!.push(tp)
  }

  /** Removes the topic's most recently assigned partition. */
  giveUp(topic: string): TopicPartition {
    return this.#partitions.get(topic)!.pop()!
  }
}

/** A partition of the topic that should move to another member. */
interface Move {
  topic: string
  from: Share
  to: Share
}

/** Moves partitions until no member has two more than another that subscribes to one of their topics. */
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
/**
 * Among members with equally many, the topic with the widest gap moves first; this keeps each topic spread over the
 * processes.
 */
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

/** The least item by `order`; the first of several. */
const first = <T>(all: readonly T[], order: (one: T, other: T) => number): T | undefined => all.toSorted(order)[0]
