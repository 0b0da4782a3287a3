import { HandOver } from '../hand-over.ts'
import type { Follower, From, OnRecords, TopicPartition } from '../port.ts'
import { Fetcher, type FetcherOptions, type Reading } from './fetcher.ts'

/** Reads partitions without a group. */
export class LogReader {
  readonly #options: FetcherOptions
  readonly #fetcher: Fetcher
  readonly #handOvers = new Set<HandOver>()

  constructor(options: FetcherOptions) {
    this.#options = options
    this.#fetcher = new Fetcher(options)
  }

  async follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower> {
    const start = await this.#fetcher.locate(tp, from)
    const handOver = new HandOver({ ...this.#options, name: `${tp.topic}/${tp.partition}`, start, onRecords })
    this.#handOvers.add(handOver)
    const reading: Reading = {
      tp,
      offset: start,
      paused: false,
      take: ({ records, next }) => handOver.take(records, next),
      cut({ low, high }) {
        reading.offset = low
        handOver.moved(low, high)
      },
    }
    this.#fetcher.read(reading)
    return {
      caughtUp: async () => {
        if (!handOver.closed) await handOver.reached(await this.#fetcher.end(tp))
      },
      close: async () => {
        this.#fetcher.forget(reading)
        this.#handOvers.delete(handOver)
        handOver.close()
      },
    }
  }

  async close(): Promise<void> {
    for (const handOver of this.#handOvers) handOver.close()
    await this.#fetcher.close()
  }
}
