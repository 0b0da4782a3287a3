import type { Admin, Consumer, Kafka } from 'kafkajs'
import kafkajs from 'kafkajs'
import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import type { GroupDriver } from '../session/driver.ts'
import type { Ownership } from '../session/ownership.ts'
import { committedOffsets } from './committed-offsets.ts'
import { MembershipHook } from './membership.ts'
import { kafkaPartition } from './partition.ts'
import { toBatch } from './record.ts'

export interface KafkaGroupOptions {
  consumerKafka: Kafka
  sessionKafka: Kafka
  admin: Admin
  clock: Clock
  telemetry: Telemetry
  groupId: string
  topics: readonly string[]
  limits: RecordLimits
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
  ownership: Ownership
}

const consumerRetry = { initialRetryTime: 100, maxRetryTime: 1000, retries: 1000, multiplier: 1.5 }
/** Members hear of a rebalance by their next heartbeat, and partitions rest until the last one has heard. */
const heartbeatMs = 500
/** Resuming waits for the fetch that is under way; a full pause waits this long at most. */
const fetchWaitMs = 200
const fetchBytesPerPartition = 256 * 1024
/** No heartbeat for this long: the client is stuck in a way that only a new process cures (rebalances take up to 30 s). */
const stuckAfterMs = 60_000
const stuckCheckMs = 5_000

/** Joins the group; from then on Ownership is told of assignments and batches. */
export async function joinKafkaGroup(options: KafkaGroupOptions): Promise<void> {
  const { consumerKafka, admin, clock, telemetry, groupId, topics, ownership } = options
  const { sessionTimeoutMs, rebalanceTimeoutMs } = options
  const hook = new MembershipHook({ events: ownership, clock, sessionTimeoutMs })
  const consumer = consumerKafka.consumer({
    groupId,
    partitionAssigners: [hook.assigner],
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: rebalanceTimeoutMs,
    heartbeatInterval: Math.min(heartbeatMs, sessionTimeoutMs / 3),
    maxWaitTimeInMs: fetchWaitMs,
    maxBytesPerPartition: fetchBytesPerPartition,
    metadataMaxAge: 30_000,
    retry: consumerRetry, // the consumer ignores the Kafka object's
  })
  let left = false
  let total = 0
  const stopWatching = watch(hook, clock, () => {
    if (!left) ownership.fatal(new Error(`no heartbeat was answered for ${stuckAfterMs / 1000} s`))
  })
  const group: GroupDriver = {
    partition: tp => kafkaPartition({ ...options, kafka: options.sessionKafka, tp, cursor: cursorOf(consumer, tp) }),
    knows: async topic => {
      const committed = await committedOffsets(admin, clock, groupId, topic)
      return committed.some(({ offset }) => offset !== '-1')
    },
    totalPartitions: () => total,
    leaseUntil: () => hook.leaseUntil(),
    leave: async () => {
      left = true
      stopWatching()
      await consumer.disconnect()
    },
  }
  await ownership.attach(group, topics)
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    total = topics.reduce((sum, topic) => sum + hook.partitions(topic), 0)
    ownership.assigned(
      Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
        partitions.map(partition => ({ topic, partition })),
      ),
    )
  })
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const { topic, partition, batchSize, lastOffset, highWatermark } = payload
    const fetchedOffset = hook.fetchedFrom(topic, partition)
    if (batchSize > 0 || fetchedOffset === undefined) return
    // nothing but markers and aborted records: kafkajs keeps such a batch to itself
    const nextOffset = Number(lastOffset) + 1
    ownership.batch({ topic, partition, fetchedOffset, records: [], nextOffset, highWatermark: Number(highWatermark) })
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    telemetry.emit('bus.crashed', { error: payload.error, restarting: payload.restart })
    if (!payload.restart && !left) ownership.fatal(payload.error)
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [...topics], fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatch: async ({ batch }) => ownership.batch(toBatch(batch)) })
}

function watch(hook: MembershipHook, clock: Clock, stuck: () => void): () => void {
  let cancel = () => {}
  const check = () => {
    if (clock.monotonic() - hook.lastHeartbeat > stuckAfterMs) stuck()
    cancel = clock.after(stuckCheckMs, check)
  }
  check()
  return () => cancel()
}

function cursorOf(consumer: Consumer, { topic, partition }: TopicPartition) {
  const partitions = [partition]
  return {
    seek: (offset: number) => ifRunning(() => consumer.seek({ topic, partition, offset: String(offset) })),
    pause: () => ifRunning(() => consumer.pause([{ topic, partitions }])),
    resume: () => ifRunning(() => consumer.resume([{ topic, partitions }])),
  }
}

/** While kafkajs restarts its consumer these calls throw; the next assignment sets them anew. */
function ifRunning(call: () => void): void {
  try {
    call()
  } catch (error) {
    if (!(error instanceof kafkajs.KafkaJSNonRetriableError)) throw error
  }
}
