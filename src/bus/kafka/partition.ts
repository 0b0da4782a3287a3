import type { Admin, Kafka, Producer, Transaction } from 'kafkajs'
import { type Clock, sleep } from '../../clock.ts'
import type { OutgoingRecord, TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import type { Acquired, PartitionDriver } from '../session/driver.ts'
import type { Compression } from './codecs.ts'
import { committedOffsets } from './committed-offsets.ts'
import type { Fetcher } from './fetcher.ts'
import { Routing } from './routing.ts'

export interface KafkaPartitionOptions {
  kafka: Kafka
  admin: Admin
  clock: Clock
  groupId: string
  tp: TopicPartition
  fetcher: Pick<Fetcher, 'ends' | 'offsetAt'>
  compression: Compression
  limits: RecordLimits
  cursor: Pick<PartitionDriver, 'seek' | 'pause' | 'resume'>
}

/** Above kafkajs's own retries: what it still repeats after being given up could fence this process's next session. */
const stepLimitMs = 12_000
const producerRetry = { initialRetryTime: 50, maxRetryTime: 500, retries: 10, multiplier: 1.5 }

/** One epoch of a partition: a transactional producer of its own, whose initialisation fences the earlier owner. */
export function kafkaPartition(options: KafkaPartitionOptions): PartitionDriver {
  const { kafka, admin, clock, groupId, tp, fetcher, cursor } = options
  const routing = new Routing(options)
  let producer: Producer | null = null
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
    await limited('connect', connecting)
    if (!producer) throw new Error('the partition was released')
    const first = await limited('init', producer.transaction())
    await first.abort()
    const ofTopic = await limited('fetch offsets', committedOffsets(admin, clock, groupId, tp.topic))
    const committed = ofTopic.find(({ partition }) => partition === tp.partition)
    const { low, high } = await limited('list offsets', fetcher.ends(tp))
    const offset = Number(committed?.offset ?? -1) // negative: the group has committed nothing
    return { committed: offset < 0 ? null : { offset, metadata: committed?.metadata ?? null }, low, high }
  }

  async function commit(records: readonly OutgoingRecord[], offset: number, metadata: string): Promise<void> {
    const transaction = await limited('begin', producer!.transaction())
    await limited('send offsets', sendOffsets(transaction, offset, metadata))
    if (records.length > 0) {
      await limited(
        'send',
        routing.send(batch => transaction.sendBatch(batch), records),
      )
    }
    await limited('end', transaction.commit())
  }

  /** Before any send: kafkajs does not repeat the request that meets CONCURRENT_TRANSACTIONS, so it is repeated here. */
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

  function limited<T>(step: string, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = clock.after(stepLimitMs, () => reject(new Error(`${step}: no answer within ${stepLimitMs} ms`)))
      work.then(resolve, reject).finally(cancel)
    })
  }

  async function release(): Promise<void> {
    const released = producer
    producer = null
    await connecting.catch(() => {}) // else it could open a connection after the end
    await released?.disconnect().catch(() => {}) // nothing depends on a connection of the past
  }

  return { ...cursor, acquire, commit, release, offsetAt: timestamp => fetcher.offsetAt(tp, timestamp) }
}
