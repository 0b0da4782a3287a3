import type { Api } from '../../src/bus/cluster/apis.ts'
import type { Brokers, Target } from '../../src/bus/cluster/brokers.ts'
import { type ProtocolError, protocolError, Unanswered } from '../../src/bus/cluster/errors.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import type { FetchedPartition, FetchRequest } from '../../src/bus/read/fetch-api.ts'
import type { Produced, ProduceRequest } from '../../src/bus/write/produce-api.ts'
import { limited } from '../../src/clock.ts'
import { buildBatch } from './batches.ts'
import { anHour, ManualClock } from './clock.ts'

/** A request, with the fields that the library would encode. */
export interface Asked {
  api: string
  target: Target
  /** Milliseconds since the test has begun. */
  at: number
  // biome-ignore lint/suspicious/noExplicitAny: requests of every kind
  fields: any[]
}

/** A response, or a function that makes it from the request. An error is thrown; undefined gives the default response. */
// biome-ignore lint/suspicious/noExplicitAny: requests of every kind
type Answer = unknown | ((fields: any[], target: Target) => unknown)

/** A partition's log. */
export interface FakeLog {
  low: number
  high: number
  /** Reads from the start of the batch that contains the offset. */
  bytes(offset: number, limit: number): Buffer
}

/** The default leader and coordinator. */
const defaultNode = 1

const nameOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`

/**
 * Brokers with one consistent state, which answer requests without encoding them. A test may script each response.
 * fake-broker.ts tests what goes over a socket.
 */
export class FakeCluster implements Pick<Brokers, 'ask' | 'leader' | 'partitions' | 'topicId' | 'refresh' | 'nodes'> {
  readonly clock: ManualClock
  readonly asked: Asked[] = []
  nodeIds = [defaultNode]
  /** The topic id of every topic. */
  currentTopicId = 'first'
  /** The number of partitions of a topic; default 4. */
  readonly counts = new Map<string, number>()
  /** The group's committed offsets, by partition. */
  readonly progress = new Map<string, { offset: number; metadata: string }>()
  /** Called when the client refreshes its metadata. */
  onRefresh = () => {}
  readonly #leaders = new Map<string, number>()
  readonly #logs = new Map<string, FakeLog>()
  readonly #next = new Map<string, Answer[]>()
  readonly #always = new Map<string, Answer>()
  /** Offsets in the open transaction. */
  #uncommitted: [name: string, { offset: number; metadata: string }][] = []
  #initialised = 0
  #changed = Promise.withResolvers<void>()

  constructor(clock = new ManualClock(anHour)) {
    this.clock = clock
  }

  /** Scripts the responses to the next requests of this API. */
  next(api: string, ...answers: Answer[]): void {
    this.#next.set(api, [...(this.#next.get(api) ?? []), ...answers])
  }

  /** Sets the response to all other requests of this API. */
  always(api: string, answer: Answer): void {
    this.#always.set(api, answer)
  }

  of(api: string): Asked[] {
    return this.asked.filter(one => one.api === api)
  }

  log(tp: TopicPartition): FakeLog {
    const log = this.#logs.get(nameOf(tp)) ?? logOf(0)
    this.#logs.set(nameOf(tp), log)
    return log
  }

  setLog(tp: TopicPartition, log: FakeLog): void {
    this.#logs.set(nameOf(tp), log)
  }

  append(tp: TopicPartition, count = 1): void {
    this.log(tp).high += count
    this.wakeFetches()
  }

  setLeader(tp: TopicPartition, node: number): void {
    this.#leaders.set(nameOf(tp), node)
    this.wakeFetches()
  }

  /** Lets waiting fetches check again for new records. */
  wakeFetches(): void {
    const { resolve } = this.#changed
    this.#changed = Promise.withResolvers()
    resolve()
  }

  ask<Q extends unknown[], A>(
    target: Target,
    { name }: Api<Q, A>,
    fields: Q,
    how: { limitMs?: number } = {},
  ): Promise<A> {
    this.asked.push({ api: name, target, at: this.clock.elapsed, fields })
    const answer = this.#answer<A>(target, name, fields)
    if (how.limitMs === undefined) return answer
    return limited(this.clock, how.limitMs, answer, () => new Unanswered(`no answer to ${name}`))
  }

  async #answer<A>(target: Target, name: string, fields: unknown[]): Promise<A> {
    const scripted = this.#next.get(name)?.splice(0, 1) ?? []
    for (const given of scripted.length > 0 ? scripted : [this.#always.get(name)]) {
      const answer = await (typeof given === 'function' ? given(fields, target) : given)
      if (answer instanceof Error) throw answer
      if (answer !== undefined) return withPartitions(answer) as A
    }
    return withPartitions(await this.#usual(name, fields, target)) as A
  }

  /** The response to OffsetFetch. @param unstable the partition whose offset an open transaction is about to change */
  // biome-ignore lint/suspicious/noExplicitAny: a request as the library takes it
  offsets([[{ topics, memberEpoch }], requiresStable]: any[], unstable = ''): unknown {
    if (memberEpoch !== -1) return refusal('STALE_MEMBER_EPOCH')
    const of = (topic: string, partition: number) => {
      const name = nameOf({ topic, partition })
      const { offset = -1, metadata = '' } = this.progress.get(name) ?? {}
      const errorCode = requiresStable && name === unstable ? codeOf('UNSTABLE_OFFSET_COMMIT') : 0
      return { partitionIndex: partition, committedOffset: BigInt(errorCode ? -1 : offset), metadata, errorCode }
    }
    const answered = topics.map(({ name, partitionIndexes }: { name: string; partitionIndexes: number[] }) => {
      return { name, partitions: partitionIndexes.map(partition => of(name, partition)) }
    })
    return { groups: [{ topics: answered }] }
  }

  async leader(tp: TopicPartition): Promise<number> {
    return this.#leaderOf(tp)
  }

  async partitions(topic: string): Promise<number> {
    return this.counts.get(topic) ?? 4
  }

  topicId(): string {
    return this.currentTopicId
  }

  async refresh(): Promise<void> {
    await Promise.resolve()
    this.onRefresh()
  }

  nodes(): readonly number[] {
    return this.nodeIds
  }

  #leaderOf(tp: TopicPartition): number {
    return this.#leaders.get(nameOf(tp)) ?? defaultNode
  }

  // biome-ignore lint/suspicious/noExplicitAny: requests of every kind
  #usual(name: string, fields: any[], target: Target): unknown {
    if (name === 'Produce') return produced(fields[0])
    if (name === 'Fetch')
      return this.#fetch(fields[0], 'node' in (target as object) ? (target as { node: number }) : {})
    if (name === 'ListOffsets') return { topics: fields[2].map((topic: ListedTopic) => this.#listed(topic)) }
    if (name === 'InitProducerId') return { producerId: 7n, producerEpoch: 10 * ++this.#initialised }
    if (name === 'TxnOffsetCommit') return this.#commitOffsets(fields[7])
    if (name === 'EndTxn') return this.#end(fields[3])
    if (name === 'OffsetFetch') return this.offsets(fields)
    if (name === 'ListTransactions') return { transactionStates: [] }
    return {}
  }

  async #fetch(request: FetchRequest, { node }: { node?: number }): Promise<FetchedPartition[]> {
    const isLed = (tp: TopicPartition) => node === undefined || this.#leaderOf(tp) === node
    const hasNews = () => request.partitions.some(({ tp, offset }) => !isLed(tp) || this.log(tp).high > offset)
    const end = this.clock.monotonic() + request.waitMs
    while (!hasNews() && this.clock.monotonic() < end) {
      const cancel = this.clock.after(end - this.clock.monotonic(), () => this.wakeFetches())
      await this.#changed.promise
      cancel()
    }
    return request.partitions.map(({ tp, offset }) => {
      if (!isLed(tp)) return fetched(tp, { errorCode: codeOf('NOT_LEADER_OR_FOLLOWER') })
      const { high: highWatermark, bytes } = this.log(tp)
      return fetched(tp, { highWatermark, bytes: bytes(offset, request.partitionBytes) })
    })
  }

  #listed({ name, partitions }: ListedTopic) {
    const of = ({ partitionIndex, timestamp }: ListedTopic['partitions'][number]) => {
      const { low, high } = this.log({ topic: name, partition: partitionIndex })
      return { partitionIndex, errorCode: 0, offset: BigInt(timestamp === -2n ? low : high) }
    }
    return { name, partitions: partitions.map(of) }
  }

  #commitOffsets(topics: { name: string; partitions: CommittedPartition[] }[]): unknown {
    for (const { name: topic, partitions } of topics) {
      for (const { partitionIndex: partition, committedOffset, committedMetadata: metadata } of partitions) {
        this.#uncommitted.push([nameOf({ topic, partition }), { offset: Number(committedOffset), metadata }])
      }
    }
    return {}
  }

  #end(isCommitted: boolean): unknown {
    if (isCommitted) for (const [name, progress] of this.#uncommitted) this.progress.set(name, progress)
    this.#uncommitted = []
    return {}
  }
}

interface ListedTopic {
  name: string
  partitions: { partitionIndex: number; timestamp: bigint }[]
}

interface CommittedPartition {
  partitionIndex: number
  committedOffset: bigint
  committedMetadata: string
}

/** A log that generates its records when they are fetched, in batches of at most `inBatch`. */
export function logOf(high: number, { inBatch = 1_000, value = 'value' } = {}): FakeLog {
  const log: FakeLog = {
    low: 0,
    high,
    bytes(offset) {
      const count = Math.min(inBatch, log.high - offset)
      if (count <= 0) return Buffer.alloc(0)
      return buildBatch(Array.from({ length: count }, (_, i) => ({ offset: offset + i, value })))
    },
  }
  return log
}

/**
 * A log that is read as Kafka reads its segment files: it finds an offset by the headers of the batches; a response ends with
 * its file; the first batch is complete even beyond the limit.
 */
export function logOfFiles(files: readonly { base: number; batches: readonly Buffer[] }[], high: number): FakeLog {
  const written = files.map(({ base, batches }) => ({ base, bytes: Buffer.concat(batches) }))
  return {
    low: files[0]!.base,
    high,
    bytes(offset, limit) {
      const holding = written.findLastIndex(({ base }) => base <= offset)
      for (const { bytes } of written.slice(holding)) {
        for (let at = 0; at < bytes.length; ) {
          const size = 12 + bytes.readInt32BE(at + 8)
          const last = Number(bytes.readBigInt64BE(at)) + bytes.readInt32BE(at + 23)
          if (size < 17 || at + size > bytes.length) break
          if (last >= offset) return bytes.subarray(at, at + Math.max(size, limit))
          at += size
        }
      }
      return Buffer.alloc(0)
    },
  }
}

/** One partition of a fetch response. By default it has no records, and the log ends at 90. */
export function fetched(tp: TopicPartition, some: Partial<FetchedPartition> = {}): FetchedPartition {
  const { highWatermark = 90 } = some
  const nothing = { errorCode: 0, abortedTransactions: [], preferredReplica: -1, bytes: Buffer.alloc(0) }
  return { ...tp, ...nothing, highWatermark, stableOffset: highWatermark, ...some }
}

/** Tests write responses to Fetch and Produce as the list of their partitions. */
const withPartitions = (answer: unknown) => (Array.isArray(answer) ? { partitions: answer } : answer)

/** The response to a Produce request. @param codes error codes, by partition */
export function produced({ batches }: ProduceRequest, codes: Record<string, number> = {}): Produced[] {
  return batches.map(({ topic, partition }) => {
    const errorCode = codes[nameOf({ topic, partition })] ?? 0
    return { topic, partition, errorCode, errorMessage: null, baseOffset: 0 }
  })
}

/** Answers Produce with an error for these partitions. @param types the protocol's names of the errors, by partition */
export const refusing =
  (types: Record<string, string>) =>
  ([request]: [ProduceRequest]) =>
    produced(request, Object.fromEntries(Object.entries(types).map(([name, type]) => [name, codeOf(type)])))

/** @param type the protocol's name of the error */
export function refusal(type: string): ProtocolError {
  const code = Array.from({ length: 130 }, (_, code) => code).find(code => protocolError(code).type === type)
  if (code === undefined) throw new Error(`the protocol has no error ${type}`)
  return protocolError(code)
}

export const codeOf = (type: string) => refusal(type).code
