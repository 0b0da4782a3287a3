import type { Follower, From, OnRecords, TopicPartition } from '../port.ts'
import { RecordDelivery, type RecordDeliveryOptions } from '../record-delivery.ts'
import type { Fetcher } from './fetcher.ts'
import type { PartitionOffsets } from './partition-offsets.ts'
import type { Reading } from './reading.ts'

export interface LogReaderOptions extends Pick<RecordDeliveryOptions, 'clock' | 'telemetry'> {
  fetcher: Fetcher
  logs: PartitionOffsets
}

export class LogReader {
  readonly #options: LogReaderOptions
  readonly #deliveries = new Set<RecordDelivery>()

  constructor(options: LogReaderOptions) {
    this.#options = options
  }

  async follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower> {
    const { fetcher, logs } = this.#options
    const start = await logs.locate(tp, from)
    const delivery = new RecordDelivery({ ...this.#options, name: `${tp.topic}/${tp.partition}`, start, onRecords })
    this.#deliveries.add(delivery)
    const reading: Reading = {
      tp,
      offset: start,
      paused: false,
      take: ({ records, next }) => delivery.take(records, next),
      cut({ low, high }) {
        reading.offset = low
        delivery.moved(low, high)
      },
    }
    fetcher.read(reading)
    return {
      get position() {
        return delivery.position
      },
      caughtUp: async behindOpen => {
        if (!delivery.closed) await delivery.reached(await logs.end(tp, behindOpen))
      },
      close: async () => {
        fetcher.forget(reading)
        this.#deliveries.delete(delivery)
        delivery.close()
      },
    }
  }

  close(): void {
    for (const delivery of this.#deliveries) delivery.close()
  }
}
