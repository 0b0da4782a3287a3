import { HandOver, type HandOverOptions } from '../hand-over.ts'
import type { Follower, From, OnRecords, TopicPartition } from '../port.ts'
import type { Fetcher } from './fetcher.ts'
import type { PartitionOffsets } from './partition-offsets.ts'
import type { Reading } from './reading.ts'

export interface LogReaderOptions extends Pick<HandOverOptions, 'clock' | 'telemetry'> {
  fetcher: Fetcher
  logs: PartitionOffsets
}

/** Reads partitions without a group. */
export class LogReader {
  readonly #options: LogReaderOptions
  readonly #handOvers = new Set<HandOver>()

  constructor(options: LogReaderOptions) {
    this.#options = options
  }

  async follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower> {
    const { fetcher, logs } = this.#options
    const start = await logs.locate(tp, from)
    const handOver = new HandOver({ ...this.#options, name: `${tp.topic}/${tp.partition}`, start, onRecords })
    this.#handOvers.add(handOver)
    const reading: Reading = {
      tp,
      offset: start,
      life: 0,
      paused: false,
      take: ({ records, next }) => handOver.take(records, next),
      cut({ low, high }) {
        reading.offset = low
        handOver.moved(low, high)
      },
    }
    fetcher.read(reading)
    return {
      get position() {
        return handOver.position
      },
      caughtUp: async behindOpen => {
        if (!handOver.closed) await handOver.reached(await logs.end(tp, behindOpen))
      },
      close: async () => {
        fetcher.forget(reading)
        this.#handOvers.delete(handOver)
        handOver.close()
      },
    }
  }

  close(): void {
    for (const handOver of this.#handOvers) handOver.close()
  }
}
