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

/** The topic is looked at so long after a partition of it was closed: brokers hear of a deletion one after the other. */
const looksMs = [1_000, 10_000]

/** Tells how many commands in doubt will get no final result because the topic of doubts was deleted. */
export class LostDoubts {
  readonly #options: LostDoubtsOptions
  /** The topic whose partitions are open; null: not known yet. */
  #id: string | null = null
  /** Doubts that were lost with a topic that is not there again. */
  #missing = 0
  #stopped = false

  constructor(options: LostDoubtsOptions) {
    this.#options = options
  }

  /** Tells why commands in doubt are not resolved now; null: the topic is there, or had none. */
  get reason(): string | null {
    if (this.#missing === 0) return null
    return `${this.#options.topic} was deleted with ${counted(this.#missing, 'command')} in doubt: create it again`
  }

  /** A partition was opened. */
  async opened(): Promise<void> {
    this.#missing = 0
    const look = await this.#look()
    if (look) this.#id = look.id
  }

  /** A partition was closed with so many commands in doubt: another session resolves them, unless its log is gone. */
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

  /** @returns undefined while nobody can tell */
  #look() {
    const { bus, topic } = this.#options
    return bus.lookAt(topic).catch(() => undefined)
  }
}
