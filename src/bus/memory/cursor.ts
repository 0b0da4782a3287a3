import type { TopicPartition } from '../port.ts'
import type { MemoryBroker } from './broker.ts'

export interface CursorOptions {
  broker: MemoryBroker
  tp: TopicPartition
  hop: (way: 'there' | 'back') => Promise<void>
  mostRecords: number
  deliver: (fetchedOffset: number, fetched: ReturnType<MemoryBroker['read']>) => void | Promise<void>
  /** Called when the log does not hold the position any more. */
  outOfRange: () => void
}

/** Reads one partition's log in batches until its end, unless paused. */
export class LogCursor {
  readonly #options: CursorOptions
  readonly #unwatch: () => void
  #position = 0
  #paused = true
  #closed = false
  #running = false

  constructor(options: CursorOptions) {
    this.#options = options
    this.#unwatch = options.broker.watch(() => this.#wake())
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
      const from = this.#position
      const isMoved = () => from !== this.#position
      await hop('there')
      if (!this.#hasMore || isMoved()) continue
      if (from < broker.start(tp) || from > broker.end(tp)) {
        outOfRange()
        if (!isMoved()) break // the listener did not move the position, so no read can succeed
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
