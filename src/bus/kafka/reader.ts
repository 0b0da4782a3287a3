import type { Kafka } from 'kafkajs'
import type { Clock } from '../../clock.ts'
import type { Reader, RecordsHandler } from '../port.ts'
import { MembershipHook } from './membership.ts'
import { toRecord } from './record.ts'

export interface ReadOptions {
  kafka: Kafka
  clock: Clock
  /** kafkajs reads only as a member of a group; this one commits nothing. */
  groupId: string
  topics: readonly string[]
  from: 'earliest' | 'latest'
  onRecords: RecordsHandler
}

/** Reads whole topics, committed records only. */
export async function readTopics({ kafka, clock, groupId, topics, from, onRecords }: ReadOptions): Promise<Reader> {
  const events = { joining: async () => {}, joinFailed: () => {} }
  const hook = new MembershipHook({ events, clock, sessionTimeoutMs: 30_000 })
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [hook.assigner],
    maxWaitTimeInMs: 200,
    sessionTimeout: 10_000,
    heartbeatInterval: 1000,
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [...topics], fromBeginning: from === 'earliest' })
  const joined = new Promise<void>(resolve => {
    consumer.on(consumer.events.GROUP_JOIN, () => resolve())
  })
  const positions = new Map<string, number>()
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: { topic, partition, messages } }) => {
      // whenever it has to join again, a member without committed offsets starts anew
      const key = `${topic}/${partition}`
      const position = positions.get(key) ?? 0
      const records = messages.map(toRecord).filter(({ offset }) => offset >= position)
      if (records.length === 0) return
      await onRecords({ topic, partition }, records)
      positions.set(key, records.at(-1)!.offset + 1)
    },
  })
  await joined
  return { close: () => consumer.disconnect() }
}
