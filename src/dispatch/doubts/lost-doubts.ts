import type { Bus, TopicPartition } from '../../bus/port.ts'
import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { count as counted } from '../../words.ts'

export interface LostDoubtsOptions {
  bus: Pick<Bus, 'lookAt'>
  topic: string
  clock: Clock
  telemetry: Telemetry
}

/** Delays of the checks after a partition was closed, since brokers learn of a deletion one after the other. */
const looksMs = [1_000, 10_000]

/** Counts commands in doubt that get no final result because the topic of doubts was deleted. */
export class LostDoubts {
  readonly #options: LostDoubtsOptions
  /** Id of the topic whose partitions are open; null if unknown. */
  #id: string | null = null
  /** Number of doubts lost with a topic that was not created again. */
  #missing = 0
  #stopped = false

  constructor(options: LostDoubtsOptions) {
    this.#options = options
  }

  /** Why commands in doubt are not resolved now; null if the topic exists, or had none. */
  get reason(): string | null {
    if (this.#missing === 0) return null
    return `${this.#options.topic} was deleted with ${counted(this.#missing, 'command')} in doubt: create it again`
  }

  /** Called when a partition is opened. */
  async opened(): Promise<void> {
    this.#missing = 0
    const look = await this.#look()
    if (look) this.#id = look.id
  }

  /**
   * Called when a partition is closed with `count` commands in doubt. Another session resolves them, unless the log is gone.
   */
  async closed({ topic, partition }: TopicPartition, count: number): Promise<void> {
    const id = this.#id
    if (count === 0 || id === null) return
    for (let looks = 0; looks < looksMs.length && !this.#stopped; ) {
      await sleep(this.#options.clock, looksMs[looks]!)
      const look = await this.#look()
      if (look?.id === id) looks++
      if (look === undefined || look?.id === id || this.#stopped) continue
      if (look === null) this.#missing += count
      this.#options.telemetry.emit('doubts.lost', { topic, partition, count })
      return
    }
  }

  stop(): void {
    this.#stopped = true
  }

  /** @returns undefined if unknown */
  #look() {
    const { bus, topic } = this.#options
    return bus.lookAt(topic).catch(() => undefined)
  }
}
