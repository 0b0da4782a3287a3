import { unpackSmall } from '../../src/bus/batches/codecs.ts'
import { RecordReader } from '../../src/bus/batches/record-reader.ts'
import { type Api, byTopic, partitionsIn } from '../../src/bus/cluster/apis.ts'
import type { Target } from '../../src/bus/cluster/brokers.ts'
import { type ProtocolError, protocolError } from '../../src/bus/cluster/errors.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import type { Produced, ProduceRequest } from '../../src/bus/write/produce-api.ts'

export interface Asked {
  api: string
  target: Target
  /** What was asked for, by name; see `named`. */
  // biome-ignore lint/suspicious/noExplicitAny: requests of every kind
  request: any
}

/** An offset of a partition, in answers of OffsetFetch. */
export interface AnsweredOffset extends TopicPartition {
  offset: number
  metadata: string
  errorCode: number
}

type Topics = { name: string; partitions: never[] }[]
// biome-ignore lint/suspicious/noExplicitAny: requests of every kind
type Fields = any[]

/** Names the fields of a request, whose places the library gives a meaning. */
const named: Record<string, (fields: Fields) => object> = {
  Produce: ([request]) => request,
  InitProducerId: ([transactionalId]) => ({ transactionalId }),
  AddPartitionsToTxn: ([[{ topics, ...owner }]]) => ({ ...owner, partitions: numbersIn(topics, 'partitions') }),
  AddOffsetsToTxn: ([transactionalId, producerId, epoch, groupId]) => ({ transactionalId, producerId, epoch, groupId }),
  TxnOffsetCommit: ([transactionalId, groupId, producerId, epoch, generation, memberId, instanceId, topics]) => {
    const offsets = partitionsIn(topics as Topics).map(one => {
      const { topic, partition, committedOffset, committedMetadata: metadata } = one as never as Committed
      return { topic, partition, offset: Number(committedOffset), metadata }
    })
    return { transactionalId, groupId, producerId, epoch, member: { memberId, generation, instanceId }, offsets }
  },
  EndTxn: ([transactionalId, producerId, epoch, committed]) => ({ transactionalId, producerId, epoch, committed }),
  OffsetFetch: ([[{ groupId, topics }]]) => ({ groupId, tps: numbersIn(topics, 'partitionIndexes') }),
  ListOffsets: ([_replica, _isolation, topics]) => {
    const asked = partitionsIn(
      topics as { name: string; partitions: { partitionIndex: number; timestamp: bigint }[] }[],
    )
    return {
      tps: asked.map(({ topic, partition }) => ({ topic, partition })),
      timestamp: Number(asked[0]!.timestamp),
    }
  },
  ListTransactions: ([states, producerIds]) => ({ states, producerIds }),
}

interface Committed extends TopicPartition {
  committedOffset: bigint
  committedMetadata: string
}

function numbersIn<K extends string>(topics: readonly ({ name: string } & Record<K, number[]>)[], key: K) {
  return topics.flatMap(({ name: topic, ...numbers }) =>
    (numbers as unknown as Record<K, number[]>)[key].map(partition => ({ topic, partition })),
  )
}

/** Answers as the library hands them over. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every kind
const shaped: Record<string, (answer: any) => object> = {
  InitProducerId: ({ producerId, epoch }) => ({ producerId, producerEpoch: epoch }),
  OffsetFetch: ({ partitions }: { partitions: AnsweredOffset[] }) => {
    const topics = byTopic(partitions, ({ partition, offset, metadata, errorCode }) => {
      return { partitionIndex: partition, committedOffset: BigInt(offset), metadata, errorCode }
    })
    return { groups: [{ groupId: 'group', topics, errorCode: 0 }] }
  },
  ListOffsets: ({ offsets }: { offsets: AnsweredOffset[] }) => ({
    topics: byTopic(offsets, ({ partition, offset, errorCode }) => {
      return { partitionIndex: partition, errorCode, offset: BigInt(offset) }
    }),
  }),
  ListTransactions: ({ transactions }) => ({ transactionStates: transactions }),
}

/** An API answers this next: a value, or what the request makes of it. An error is thrown. */
type Answer = unknown | ((request: never) => unknown)

/** Stands for the wire: it answers as brokers that agree do, unless the test has said something else. */
export class ScriptedBrokers {
  readonly asked: Asked[] = []
  nodeIds = [1]
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

  async ask<Q extends unknown[], A>(target: Target, { name }: Api<Q, A>, fields: Q): Promise<A> {
    const request = named[name]!(fields)
    this.asked.push({ api: name, target, request })
    const [scripted] = this.#next.get(name)?.splice(0, 1) ?? []
    const answer = await (typeof scripted === 'function' ? scripted(request) : scripted)
    if (answer instanceof Error) throw answer
    const given = answer ?? this.#usual(name, request)
    return (shaped[name]?.(given) ?? given) as A
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

  #usual(name: string, request: unknown): unknown {
    if (name === 'Produce') return produced(request as ProduceRequest)
    if (name === 'InitProducerId') return { producerId: 7n, epoch: 10 * ++this.#initialised }
    if (name === 'TxnOffsetCommit') {
      const { offsets } = request as { offsets: AnsweredOffset[] }
      for (const one of offsets) this.progress.set(`${one.topic}/${one.partition}`, one)
    }
    if (name === 'OffsetFetch') return { partitions: this.#fetched(request as { tps: TopicPartition[] }) }
    return { transactions: [] }
  }

  #fetched({ tps }: { tps: TopicPartition[] }): AnsweredOffset[] {
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
