import type { Clock } from '../clock.ts'
import { keyHash } from './murmur2.ts'
import { allPartitions, missingOnBus } from './partitions.ts'
import type { Bus, TopicLook } from './port.ts'

/** A partition that may hold records with a key. */
export interface KeyPlace {
  partition: number
  /** Such records were written before this time, milliseconds since 1970. Infinity: they are still written there. */
  until: number
}

/** The numbers of partitions by which writers may have chosen a partition. */
export interface Counts {
  least: number
  most: number
}

/** How long the number of partitions is usually cached. */
const usualAgeMs = 1000
/** How long a writer may not know of an added partition, including clock skew: five minutes as in Java clients. */
const unawareMs = 6 * 60_000
/** No record is older; a timestamp in seconds would be. */
const leastTime = Date.UTC(2020)

/**
 * A topic whose keys choose the partition, and to which partitions may be added. A key's records are on one partition for each
 * number of partitions that their writers knew. That number only grows, so a partition's first record, or this process's first
 * look at it, shows from when on smaller numbers are out of use. In a topic that has not grown lately, every key has one
 * partition.
 */
export class KeyedTopic {
  readonly name: string
  readonly #bus: Pick<Bus, 'lookAt' | 'firstTimes'>
  readonly #clock: Clock
  /** Changes when partitions are added, or the topic is recreated. */
  version = 0
  /** Id of the topic, which changes when it is recreated; null before it was seen. */
  id: string | null = null
  /** For each partition, since when it has existed at the latest, milliseconds since 1970; never less than the one before. */
  #since: readonly number[] = []
  #looking: Promise<void> | null = null
  /** Monotonic milliseconds. */
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(bus: Pick<Bus, 'lookAt' | 'firstTimes'>, name: string, clock: Clock) {
    this.#bus = bus
    this.name = name
    this.#clock = clock
  }

  /** Number of partitions; 0 before the first look. */
  get partitions(): number {
    return this.#since.length
  }

  /**
   * Learns of added partitions.
   * @param maxAgeMs how old the known number of partitions may be
   * @throws Error when the topic does not exist, or cannot be looked up now
   */
  async look(maxAgeMs = usualAgeMs): Promise<void> {
    const least = this.#clock.monotonic() - maxAgeMs
    while (this.#lookedAt < least) {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null
      })
      await this.#looking
    }
  }

  async #look(): Promise<void> {
    const lookedAt = this.#clock.monotonic()
    const found = await this.#bus.lookAt(this.name)
    if (!found) throw missingOnBus([this.name])
    if (found.id !== this.id || found.partitions !== this.#since.length) await this.#learn(found)
    this.#lookedAt = lookedAt
  }

  async #learn({ id, partitions }: TopicLook): Promise<void> {
    const isGrown = id === this.id && partitions > this.#since.length
    const known = isGrown ? this.#since : []
    const added = allPartitions(this.name, partitions).slice(known.length)
    // partitions that are added while this process looks are new
    const begun = this.id === null ? await this.#bus.firstTimes(added) : added.map(() => null)
    const now = this.#clock.now()
    const since = [...known, ...begun.map(time => (time === null || time < leastTime ? now : Math.min(time, now)))]
    this.#since = since.map((_, partition) => Math.min(...since.slice(partition)))
    this.id = id
    this.version++
  }

  /** Numbers of partitions that writers may have used at this time or later, milliseconds since 1970. */
  countsSince(since: number): Counts {
    const most = this.#since.length
    let least = most
    while (least > 1 && this.#since[least - 1]! + unawareMs > since) least--
    return { least, most }
  }

  /** The partition of new records with the key. */
  partitionOf(key: string): number {
    return keyHash(key) % this.#since.length
  }

  /** Partitions that may hold records with the key that were written at this time or later. */
  placesOf(key: string, since: number): KeyPlace[] {
    const { least, most } = this.countsSince(since)
    const hash = keyHash(key)
    const until = new Map<number, number>()
    // from the smallest number on: of one partition, the latest time counts
    for (let count = least; count <= most; count++) {
      until.set(hash % count, count < most ? this.#since[count]! + unawareMs : Number.POSITIVE_INFINITY)
    }
    return Array.from(until, ([partition, until]) => ({ partition, until }))
  }
}

/** Whether the partition may hold records with the key. */
export function mayHold(partition: number, key: string, { least, most }: Counts): boolean {
  const hash = keyHash(key)
  for (let count = most; count >= least && count > partition; count--) if (hash % count === partition) return true
  return false
}

/** The partitions of another topic that may hold keys of this partition: with equal and constant numbers, only the same. */
export function partitionsSharingKeys(partition: number, own: Counts, others: Counts): Set<number> {
  const shared = new Set<number>()
  for (let other = others.most; other >= others.least; other--) {
    for (let count = own.most; count >= own.least && count > partition; count--) {
      // a hash has these remainders of both numbers only if they agree modulo the greatest common divisor
      const step = greatestCommonDivisor(count, other)
      for (let one = partition % step; one < other; one += step) shared.add(one)
      if (shared.size === others.most) return shared
    }
  }
  return shared
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b))
