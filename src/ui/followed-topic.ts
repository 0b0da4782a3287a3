import { allPartitions } from '../bus/partitions.ts'
import type { Bus, Follower, From, RecordsHandler, TopicPartition } from '../bus/port.ts'

const retryMs = 5000

/** Beginnings says where to begin in each partition. */
type Beginnings = (tps: readonly TopicPartition[]) => Promise<readonly From[]>

export const fromEarliest: Beginnings = async tps => tps.map(() => 'earliest')
export const fromNow: Beginnings = async tps => tps.map(() => 'latest')

/** Reads all partitions of a topic as it grows, from wherever it is told to; what cannot be read yet is tried again. */
export class FollowedTopic {
  readonly topic: string
  readonly #bus: Pick<Bus, 'partitions' | 'follow'>
  readonly #followers: Follower[] = []
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** Why it cannot be read now; null: it can. */
  trouble: string | null = null
  /** Whether all that was there at first has been read. */
  complete = false
  /** Resolves when it is followed, or cannot be yet. */
  readonly begun: Promise<void>

  /** @param onRecords when it fails, the same records are handed over again */
  constructor(bus: Pick<Bus, 'partitions' | 'follow'>, topic: string, from: Beginnings, onRecords: RecordsHandler) {
    this.#bus = bus
    this.topic = topic
    this.begun = this.#begin(from, onRecords)
  }

  /** The end of each partition, as far as it was read. */
  get positions(): number[] {
    return this.#followers.map(({ position }) => position)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await Promise.all(this.#followers.map(follower => follower.close()))
  }

  async #begin(from: Beginnings, onRecords: RecordsHandler): Promise<void> {
    const { topic } = this
    const begun: Follower[] = []
    try {
      const count = (await this.#bus.partitions([topic])).get(topic)
      if (count === undefined) throw new Error(`there is no topic ${topic}: create it with busgate topics create`)
      const tps = allPartitions(topic, count)
      const beginnings = await from(tps)
      for (const [i, tp] of tps.entries()) {
        begun.push(await this.#bus.follow(tp, beginnings[i]!, records => this.#take(() => onRecords(tp, records))))
      }
      this.#followers.push(...begun)
      if (this.#closed) await this.close()
      this.trouble = null
      await Promise.all(begun.map(follower => follower.caughtUp()))
      this.complete = true
    } catch (error) {
      this.trouble = (error as Error).message
      await Promise.all(begun.map(follower => follower.close()))
      if (!this.#closed) this.#timer = setTimeout(() => void this.#begin(from, onRecords), retryMs).unref()
    }
  }

  async #take(work: () => Promise<void> | void): Promise<void> {
    try {
      await work()
      this.trouble = null
    } catch (error) {
      this.trouble = (error as Error).message
      throw error
    }
  }
}
