import { protocolError } from '../../src/bus/cluster/errors.ts'
import type { FetchAnswer, FetchedPartition, FetchRequest } from '../../src/bus/read/fetch-api.ts'

const notLeader = 6
const sessionNotFound = 70
const wrongEpoch = 71

interface Cached {
  offset: number
  /** The end of the log that was told last. */
  told: number
}

export interface SessionBrokerOptions {
  /** How many records each partition of the topic `t` holds; shared with the other brokers of a cluster. */
  ends: number[]
  bytesOf(from: number, end: number): Buffer
  /** Default: all of them. */
  leads?(partition: number): boolean
}

/** A broker whose fetch sessions are as KIP-227 describes them. */
export class SessionBroker {
  readonly requests: FetchRequest[] = []
  /** Whether it keeps sessions at all. */
  keeps = true
  readonly ends: number[]
  readonly #options: SessionBrokerOptions
  #id = 0
  #epoch = 0
  #cache = new Map<number, Cached>()

  constructor(options: SessionBrokerOptions) {
    this.#options = options
    this.ends = options.ends
  }

  /** Forgets sessions as a restart does, or as a broker does whose room other clients need. */
  forget(): void {
    this.#id = 0
  }

  /** Answers at once. */
  readonly ask = async (request: FetchRequest): Promise<FetchAnswer> => {
    this.begin(request)
    return this.answer(request)
  }

  /** @throws ProtocolError for a session that it does not have */
  begin(request: FetchRequest): void {
    this.requests.push(request)
    const { id, epoch, left } = request.session!
    if (epoch !== 0 && (id === 0 || id !== this.#id)) throw protocolError(sessionNotFound)
    if (epoch !== 0 && epoch !== this.#epoch) throw protocolError(wrongEpoch)
    if (epoch === 0) {
      this.#cache = new Map()
      this.#id = this.keeps ? id + 1 : 0
    }
    for (const { tp, offset } of request.partitions) {
      this.#cache.set(tp.partition, { told: -1, ...this.#cache.get(tp.partition), offset })
    }
    for (const { partition } of left) this.#cache.delete(partition)
    this.#epoch = epoch + 1
  }

  /** Tells whether there is a record, or an error: brokers wait for one. */
  get hasNews(): boolean {
    return [...this.#cache].some(([partition, { offset }]) => this.ends[partition]! > offset || !this.#leads(partition))
  }

  /** @returns what there is to say of a request that has begun */
  answer({ session }: FetchRequest): FetchAnswer {
    const partitions: FetchedPartition[] = []
    for (const [partition, cached] of this.#cache) {
      const place = {
        topic: 't',
        partition,
        abortedTransactions: [],
        preferredReplica: -1,
        stableOffset: this.ends[partition]!,
      }
      const end = this.ends[partition]!
      if (!this.#leads(partition)) {
        partitions.push({ ...place, errorCode: notLeader, highWatermark: -1, bytes: Buffer.alloc(0) })
      } else if (session!.epoch === 0 || end > cached.offset || end !== cached.told) {
        cached.told = end
        const bytes = this.#options.bytesOf(cached.offset, end)
        partitions.push({ ...place, errorCode: 0, highWatermark: end, bytes })
      }
    }
    return { session: this.#id, partitions }
  }

  #leads(partition: number): boolean {
    return this.#options.leads?.(partition) ?? true
  }
}
