import type { TopicPartition } from '../port.ts'
import type { Reading, Reads } from '../read/reading.ts'
import type { MemoryBroker } from './broker.ts'

export interface MemoryFetcherOptions {
  broker: MemoryBroker
  hop: (tp: TopicPartition, way: 'there' | 'back') => Promise<void>
  mostRecords: number
  closing: AbortSignal
}

/** Reads logs in batches until their ends. */
export class MemoryFetcher implements Reads {
  readonly #options: MemoryFetcherOptions
  readonly #readings = new Set<Reading>()
  readonly #running = new Set<Reading>()

  constructor(options: MemoryFetcherOptions) {
    this.#options = options
    const unwatch = options.broker.watch(() => {
      for (const reading of this.#readings) this.read(reading)
    })
    options.closing.addEventListener('abort', () => {
      unwatch()
      this.#readings.clear()
    })
  }

  read(reading: Reading): void {
    if (this.#options.closing.aborted) return
    this.#readings.add(reading)
    if (!this.#running.has(reading) && this.#hasMore(reading)) void this.#run(reading)
  }

  forget(reading: Reading): void {
    this.#readings.delete(reading)
  }

  #hasMore(reading: Reading): boolean {
    const isRead = this.#readings.has(reading) && !reading.paused
    return isRead && reading.offset !== this.#options.broker.end(reading.tp)
  }

  async #run(reading: Reading): Promise<void> {
    const { broker, hop, mostRecords } = this.#options
    const { tp } = reading
    this.#running.add(reading)
    while (this.#hasMore(reading)) {
      const from = reading.offset
      const isMoved = () => from !== reading.offset
      await hop(tp, 'there')
      if (!this.#hasMore(reading) || isMoved()) continue
      const [low, high] = [broker.start(tp), broker.end(tp)]
      if (from < low || from > high) {
        reading.cut({ ...tp, low, high })
        if (!isMoved()) break // the position was not moved, so no read can succeed
        continue
      }
      const fetched = broker.read(tp, from, mostRecords)
      await hop(tp, 'back')
      if (!this.#readings.has(reading) || isMoved()) continue
      reading.offset = fetched.next
      await reading.take({ ...fetched, highWatermark: broker.end(tp) }, from)
    }
    this.#running.delete(reading)
  }
}
