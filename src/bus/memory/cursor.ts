import type { BusRecord, TopicPartition } from '../port.ts'
import type { MemoryBroker } from './broker.ts'

interface Fetched {
  records: BusRecord[]
  next: number
}

const mostRecords = 500

/** Reads one partition's log onward, a batch at a time, while there is something to read and nobody has paused it. */
export class Cursor {
  readonly #broker: MemoryBroker
  readonly #tp: TopicPartition
  readonly #hop: () => Promise<void>
  readonly #deliver: (fetchedOffset: number, fetched: Fetched) => void | Promise<void>
  readonly #unwatch: () => void
  #position = 0
  #paused = true
  #closed = false
  #running = false

  constructor(
    broker: MemoryBroker,
    tp: TopicPartition,
    hop: () => Promise<void>,
    deliver: (fetchedOffset: number, fetched: Fetched) => void | Promise<void>,
  ) {
    this.#broker = broker
    this.#tp = tp
    this.#hop = hop
    this.#deliver = deliver
    this.#unwatch = broker.watch(() => this.#wake())
  }

  seek(offset: number): void {
    this.#position = offset
    this.#wake()
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#wake()
  }

  close(): void {
    this.#closed = true
    this.#unwatch()
  }

  get #hasMore(): boolean {
    return !this.#closed && !this.#paused && this.#position < this.#broker.end(this.#tp)
  }

  #wake(): void {
    if (!this.#running && this.#hasMore) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#hasMore) {
      const from = this.#position
      await this.#hop()
      if (!this.#hasMore || from !== this.#position) continue
      const fetched = this.#broker.read(this.#tp, from, mostRecords)
      this.#position = fetched.next
      await this.#deliver(from, fetched)
    }
    this.#running = false
  }
}
