import { unpackSmall } from '../../src/bus/batches/codecs.ts'
import { RecordReader } from '../../src/bus/batches/record-reader.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import type { Api, Target } from '../../src/bus/wire/brokers.ts'
import { type ProtocolError, protocolError } from '../../src/bus/wire/errors.ts'
import type { CommittedPartition, OffsetFetchRequest } from '../../src/bus/wire/offset-apis.ts'
import type { Produced, ProduceRequest } from '../../src/bus/wire/produce-api.ts'
import type { OffsetsRequest } from '../../src/bus/wire/transaction-apis.ts'

export interface Asked {
  api: string
  target: Target
  // biome-ignore lint/suspicious/noExplicitAny: requests of every kind
  request: any
}

/** An API answers this next: a value, or what the request makes of it. An error is thrown. */
type Answer = unknown | ((request: never) => unknown)

/** Stands for the wire: it answers as brokers that agree do, unless the test has said something else. */
export class ScriptedBrokers {
  readonly asked: Asked[] = []
  nodeIds = [1]
  /** The level of transaction.version that the brokers have. */
  level = 0
  /** Partitions of each topic. */
  counts = new Map<string, number>()
  /** Leaders of partitions, 1 for those that are left out. */
  readonly leaders = new Map<string, number>()
  /** The group's progress, by partition, as it was written last. */
  readonly progress = new Map<string, { offset: number; metadata: string }>()
  /** Hears when the view of the cluster is made anew. */
  onRefresh = () => {}
  readonly #next = new Map<string, Answer[]>()
  #initialised = 0

  /** What the next requests of this API get. */
  next(api: string, ...answers: Answer[]): void {
    this.#next.set(api, [...(this.#next.get(api) ?? []), ...answers])
  }

  /** Names of the requests so far, in their order. */
  get names(): string[] {
    return this.asked.map(({ api }) => api)
  }

  of(api: string): Asked[] {
    return this.asked.filter(one => one.api === api)
  }

  async ask<Q, A>(target: Target, { name, versions }: Api<Q, A>, request: Q): Promise<A> {
    this.asked.push({ api: name, target, request })
    const [scripted] = this.#next.get(name)?.splice(0, 1) ?? []
    const answer = await (typeof scripted === 'function' ? scripted(request) : scripted)
    if (answer instanceof Error) throw answer
    return (answer ?? this.#usual(name, versions[1], request)) as A
  }

  async leader({ topic, partition }: TopicPartition): Promise<number> {
    return this.leaders.get(`${topic}/${partition}`) ?? 1
  }

  async partitions(topic: string): Promise<number> {
    return this.counts.get(topic) ?? 4
  }

  async refresh(): Promise<void> {
    this.onRefresh()
  }

  nodes(): readonly number[] {
    return this.nodeIds
  }

  async feature(): Promise<number> {
    return this.level
  }

  #usual(name: string, version: number, request: unknown): unknown {
    if (name === 'Produce') return produced(request as ProduceRequest)
    if (name === 'InitProducerId') return { errorCode: 0, producerId: 7n, epoch: 10 * ++this.#initialised }
    if (name === 'EndTxn' && version >= 5) {
      const { producerId, epoch } = request as { producerId: bigint; epoch: number }
      return { errorCode: 0, producerId, epoch: epoch + 1 }
    }
    if (name === 'TxnOffsetCommit') {
      for (const one of (request as OffsetsRequest).offsets) this.progress.set(`${one.topic}/${one.partition}`, one)
    }
    if (name === 'OffsetFetch') return { errorCode: 0, partitions: this.#fetched(request as OffsetFetchRequest) }
    return { errorCode: 0, transactions: [] }
  }

  #fetched({ tps }: OffsetFetchRequest): CommittedPartition[] {
    return tps.map(({ topic, partition }) => {
      const { offset = -1, metadata = '' } = this.progress.get(`${topic}/${partition}`) ?? {}
      return { topic, partition, offset, metadata, errorCode: 0 }
    })
  }
}

/** An answer to a produce request, with these codes of partitions. */
export function produced({ batches }: ProduceRequest, codes: Record<string, number> = {}): Produced[] {
  return batches.map(({ topic, partition }) => {
    const errorCode = codes[`${topic}/${partition}`] ?? 0
    return { topic, partition, errorCode, errorMessage: null }
  })
}

/** @param type as the protocol calls it */
export function refusal(type: string): ProtocolError {
  for (let code = -1; code < 130; code++) {
    const error = protocolError(code)
    if (error.type === type) return error
  }
  throw new Error(`the protocol has no ${type}`)
}

export const codeOf = (type: string) => refusal(type).code

/** Tells what a batch on its way to a broker says of itself. */
export function looksOf({ topic, partition, bytes }: ProduceRequest['batches'][number]) {
  const reader = new RecordReader(unpackSmall(bytes.readInt16BE(21) & 7, bytes.subarray(61))!)
  const records = Array.from({ length: bytes.readInt32BE(57) }, (_, offset) => {
    reader.next()
    return reader.record(offset, 0)
  })
  return {
    to: `${topic}/${partition}`,
    producerId: Number(bytes.readBigInt64BE(43)),
    epoch: bytes.readInt16BE(51),
    sequence: bytes.readInt32BE(53),
    keys: records.map(({ key }) => String(key)),
  }
}
