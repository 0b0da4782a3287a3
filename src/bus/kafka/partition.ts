import type { Kafka, Producer, Transaction } from 'kafkajs'
import { type Clock, limited, sleep } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import type { OutgoingRecord, TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import type { Acquired, Committed, PartitionDriver } from '../session/driver.ts'
import { keepProgress } from '../wire/kept-progress.ts'
import { isUnstable, untilSettled } from './committed-offsets.ts'
import type { Logs } from './logs.ts'
import { Routing } from './routing.ts'
import type { KafkaSharedCommits } from './shared-commits.ts'

export interface KafkaPartitionOptions {
  kafka: Kafka
  clock: Clock
  groupId: string
  tp: TopicPartition
  logs: Pick<Logs, 'committed' | 'ends' | 'offsetAt'>
  compression: Compression
  limits: RecordLimits
  cursor: Cursor
  /** Ends what processes have left open that are dead. */
  bury: () => Promise<void>
}

type Cursor = Pick<PartitionDriver, 'seek' | 'pause' | 'resume'>

export interface WirePartitionOptions {
  tp: TopicPartition
  shared: KafkaSharedCommits
  logs: Pick<Logs, 'offsetAt'>
  cursor: Cursor
  /** Whether it commits by itself. */
  apart: boolean
}

/** A partition whose process writes over the wire. */
export function wirePartition({ tp, shared, logs, cursor, apart }: WirePartitionOptions): PartitionDriver {
  const own = apart ? shared.apart(tp) : { acquire: () => shared.acquire(tp), commit: onlyShared }
  return { ...cursor, ...own, release: async () => {}, offsetAt: timestamp => logs.offsetAt(tp, timestamp) }
}

async function onlyShared(): Promise<void> {
  throw new Error('a partition that commits together with others does not commit by itself')
}

/** Above kafkajs's own retries: what it still repeats after being given up could fence this process's next session. */
const stepLimitMs = 12_000
const unstableMs = 5
const producerRetry = { initialRetryTime: 50, maxRetryTime: 500, retries: 10, multiplier: 1.5 }

/** One epoch of a partition: a transactional producer of its own, whose initialisation fences the earlier owner. */
export function kafkaPartition(options: KafkaPartitionOptions): PartitionDriver {
  const { kafka, clock, groupId, tp, logs, cursor } = options
  const routing = new Routing(options)
  let producer: Producer | null = null
  /** Whether progress that was committed since the take-over was found with the group. */
  let isFound = false
  let connecting: Promise<void> = Promise.resolve()

  async function acquire(): Promise<Acquired> {
    producer = kafka.producer({
      transactionalId: `${groupId}-${tp.topic}-${tp.partition}`,
      idempotent: false, // true would open a second, non-transactional identity
      maxInFlightRequests: 1,
      transactionTimeout: 30_000,
      metadataMaxAge: 30_000,
      retry: producerRetry,
      createPartitioner: routing.createPartitioner,
    })
    connecting = producer.connect()
    await inTime('connect', connecting)
    if (!producer) throw new Error('the partition was released')
    const first = await inTime('init', producer.transaction())
    await untilSettled(() => inTime('fetch offsets', logs.committed(groupId, [tp])), clock)
    await inTime('write to the group', sendOffsets(first, 0, ''))
    await inTime('abort', first.abort())
    const committed = await inTime('fetch offsets', committedOffset())
    const { low, high } = await inTime('list offsets', logs.ends(tp))
    return { committed, low, high }
  }

  /**
   * Asked behind a write of this process, though of one that was taken back: a coordinator that has just begun answers with
   * older offsets than were confirmed, until the first write that is confirmed to it (seen with Kafka 4.3.0).
   */
  async function committedOffset(): Promise<Committed | null> {
    for (;;) {
      const [found] = await logs.committed(groupId, [tp])
      const { committed, error } = found!
      if (!error) return committed
      if (!isUnstable(found!) || !producer) throw error
      await options.bury()
      await sleep(clock, unstableMs) // the coordinator does not know yet that it was taken back
    }
  }

  async function commit(records: readonly OutgoingRecord[], offset: number, metadata: string): Promise<void> {
    await transact(records, offset, metadata)
    if (!isFound) await inTime('find', find(offset, metadata))
  }

  async function find(offset: number, metadata: string): Promise<void> {
    const missing = async () => {
      const found = await committedOffset()
      return found?.offset === offset && found.metadata === metadata ? [] : [offset]
    }
    await keepProgress(groupId, missing, () => transact([], offset, metadata))
    isFound = true
  }

  async function transact(records: readonly OutgoingRecord[], offset: number, metadata: string): Promise<void> {
    const transaction = await inTime('begin', producer!.transaction())
    await inTime('send offsets', sendOffsets(transaction, offset, metadata))
    if (records.length > 0) {
      await inTime(
        'send',
        routing.send(batch => transaction.sendBatch(batch), records),
      )
    }
    await inTime('end', transaction.commit())
  }

  /**
   * Adds offsets before anything is sent. kafkajs does not repeat the request that meets CONCURRENT_TRANSACTIONS, so
   * this does.
   */
  async function sendOffsets(transaction: Transaction, offset: number, metadata: string): Promise<void> {
    const partitions = [{ partition: tp.partition, offset: String(offset), metadata }] // its types lack metadata
    for (let wait = 2; ; wait = Math.min(wait * 2, 50)) {
      try {
        return await transaction.sendOffsets({ consumerGroupId: groupId, topics: [{ topic: tp.topic, partitions }] })
      } catch (error) {
        if ((error as { type?: string }).type !== 'CONCURRENT_TRANSACTIONS' || !producer) throw error
        await sleep(clock, wait)
      }
    }
  }

  function inTime<T>(step: string, work: Promise<T>): Promise<T> {
    return limited(clock, stepLimitMs, work, `${step}: no answer within ${stepLimitMs} ms`)
  }

  async function release(): Promise<void> {
    const released = producer
    producer = null
    await connecting.catch(() => {}) // else it could open a connection after the end
    await released?.disconnect().catch(() => {}) // nothing depends on a connection of the past
  }

  return { ...cursor, acquire, commit, release, offsetAt: timestamp => logs.offsetAt(tp, timestamp) }
}
