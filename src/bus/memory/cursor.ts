import type { BusRecord, TopicPartition } from '../port.ts'
import type { MemoryBroker } from './broker.ts'

interface Fetched {
  records: BusRecord[]
  next: number
}

/** Reads one partition's log onward, a batch at a time, while there is something to read and nobody has paused it. */
export class Cursor {
  readonly #broker: MemoryBroker
  readonly #tp: TopicPartition
  readonly #hop: (way: 'there' | 'back') => Promise<void>
  readonly #mostRecords: number
  readonly #deliver: (fetchedOffset: number, fetched: Fetched) => void | Promise<void>
  readonly #unwatch: () => void
  #position = 0
  #paused = true
  #closed = false
  #running = false

  constructor(
    broker: MemoryBroker,
    tp: TopicPartition,
    hop: (way: 'there' | 'back') => Promise<void>,
    mostRecords: number,
    deliver: (fetchedOffset: number, fetched: Fetched) => void | Promise<void>,
  ) {
    this.#broker = broker
    this.#tp = tp
    this.#hop = hop
    this.#mostRecords = mostRecords
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
      await this.#hop('there')
      if (!this.#hasMore || from !== this.#position) continue
      const fetched = this.#broker.read(this.#tp, from, this.#mostRecords)
      this.#position = fetched.next
      await this.#hop('back')
      if (!this.#closed) await this.#deliver(from, fetched)
    }
    this.#running = false
  }
}
