import type { FetchedPartition, FetchRequest } from '../../src/bus/read/fetch-api.ts'

const notLeader = 6

export interface FetchBrokerOptions {
  /** How many records each partition of the topic `t` holds; shared with the other brokers of a cluster. */
  ends: number[]
  bytesOf(from: number, end: number): Buffer
  /** Default: all of them. */
  leads?(partition: number): boolean
}

/** A broker that is asked for records, and notes for which. */
export class FetchBroker {
  readonly requests: FetchRequest[] = []
  readonly ends: number[]
  readonly #options: FetchBrokerOptions

  constructor(options: FetchBrokerOptions) {
    this.#options = options
    this.ends = options.ends
  }

  /** Answers at once. */
  readonly ask = async (request: FetchRequest): Promise<FetchedPartition[]> => {
    this.begin(request)
    return this.answer(request)
  }

  begin(request: FetchRequest): void {
    this.requests.push(request)
  }

  /** Tells whether there is a record, or an error: brokers wait for one. */
  hasNews({ partitions }: FetchRequest): boolean {
    return partitions.some(({ tp: { partition }, offset }) => this.ends[partition]! > offset || !this.#leads(partition))
  }

  answer({ partitions }: FetchRequest): FetchedPartition[] {
    return partitions.map(({ tp: { topic, partition }, offset }) => {
      const end = this.ends[partition]!
      const place = { topic, partition, abortedTransactions: [], preferredReplica: -1, stableOffset: end }
      if (!this.#leads(partition)) return { ...place, errorCode: notLeader, highWatermark: -1, bytes: Buffer.alloc(0) }
      return { ...place, errorCode: 0, highWatermark: end, bytes: this.#options.bytesOf(offset, end) }
    })
  }

  #leads(partition: number): boolean {
    return this.#options.leads?.(partition) ?? true
  }
}
