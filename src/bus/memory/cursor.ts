import type { BusRecord, TopicPartition } from '../port.ts'
import type { MemoryBroker } from './broker.ts'

interface LogSlice {
  records: BusRecord[]
  next: number
}

export interface CursorOptions {
  broker: MemoryBroker
  tp: TopicPartition
  hop: (way: 'there' | 'back') => Promise<void>
  mostRecords: number
  deliver: (fetchedOffset: number, fetched: LogSlice) => void | Promise<void>
  /** The log does not hold the position any more. */
  outOfRange: () => void
}

/** Reads one partition's log onward, a batch at a time, while there is something to read and nobody has paused it. */
export class LogCursor {
  readonly #options: CursorOptions
  readonly #unwatch: () => void
  #position = 0
  /** Only fetches of this life are delivered. */
  #life = 0
  #paused = true
  #closed = false
  #running = false

  constructor(options: CursorOptions) {
    this.#options = options
    this.#unwatch = options.broker.watch(() => this.#wake())
  }

  /** Another session reads from now on: what was fetched for the last one is not delivered, be it from the same place. */
  renew(): void {
    this.#life++
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
    const { broker, tp } = this.#options
    return !this.#closed && !this.#paused && this.#position !== broker.end(tp)
  }

  #wake(): void {
    if (!this.#running && this.#hasMore) void this.#run()
  }

  async #run(): Promise<void> {
    const { broker, tp, hop, mostRecords, deliver, outOfRange } = this.#options
    this.#running = true
    while (this.#hasMore) {
      const [from, life] = [this.#position, this.#life]
      const isMoved = () => from !== this.#position || life !== this.#life
      await hop('there')
      if (!this.#hasMore || isMoved()) continue
      if (from < broker.start(tp) || from > broker.end(tp)) {
        outOfRange()
        if (!isMoved()) break // nobody can read here
        continue
      }
      const fetched = broker.read(tp, from, mostRecords)
      await hop('back')
      if (this.#closed || isMoved()) continue
      this.#position = fetched.next
      await deliver(from, fetched)
    }
    this.#running = false
  }
}
