import { allPartitions } from '../bus/partitions.ts'
import type { Bus, Follower, From, RecordsHandler, TopicPartition } from '../bus/port.ts'

const retryMs = 5000
const partitionsAgeMs = 10_000

/** Chooses where to begin in each partition. */
type StartPositions = (tps: readonly TopicPartition[]) => Promise<readonly From[]>

export const fromEarliest: StartPositions = async tps => tps.map(() => 'earliest')
export const fromNow: StartPositions = async tps => tps.map(() => 'latest')

/** Follows all partitions of a topic, added ones from their beginning. Retries until the topic can be read. */
export class FollowedTopic {
  readonly topic: string
  readonly #bus: Pick<Bus, 'partitions' | 'follow'>
  readonly #followers: Follower[] = []
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** Why the topic cannot be read now; null if it can. */
  trouble: string | null = null
  /** Whether all records older than the follower have been read. */
  complete = false
  /** Resolves after the first attempt to follow the topic. */
  readonly begun: Promise<void>

  /** @param onRecords its error causes redelivery of the same records */
  constructor(bus: Pick<Bus, 'partitions' | 'follow'>, topic: string, from: StartPositions, onRecords: RecordsHandler) {
    this.#bus = bus
    this.topic = topic
    this.begun = this.#extend(from, onRecords)
  }

  /** Position in each partition. */
  get positions(): number[] {
    return this.#followers.map(({ position }) => position)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await Promise.all(this.#followers.map(follower => follower.close()))
  }

  /** Follows the partitions that it does not follow yet, and looks for more later. */
  async #extend(from: StartPositions, onRecords: RecordsHandler): Promise<void> {
    const { topic } = this
    try {
      const count = (await this.#bus.partitions([topic])).get(topic)
      if (count === undefined) throw new Error(`there is no topic ${topic}: create it with busgate topics create`)
      const tps = allPartitions(topic, count).slice(this.#followers.length)
      const positions = await from(tps)
      for (const [i, tp] of tps.entries()) {
        const follow = this.#bus.follow(tp, positions[i]!, records => this.#take(() => onRecords(tp, records)))
        this.#followers.push(await follow)
      }
      if (!this.complete && !this.#closed) {
        this.trouble = null
        await Promise.all(this.#followers.map(follower => follower.caughtUp()))
        this.complete = true
      }
    } catch (error) {
      if (!this.complete) this.trouble = (error as Error).message
    }
    if (this.#closed) return await this.close()
    const again = () => void this.#extend(this.complete ? fromEarliest : from, onRecords)
    this.#timer = setTimeout(again, this.complete ? partitionsAgeMs : retryMs).unref()
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
