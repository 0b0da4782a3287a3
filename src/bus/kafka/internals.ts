import { createRequire } from 'node:module'

/** The parts of kafkajs 2.2.4 behind its public face that the adapter holds on to. The version is pinned for this. */

export interface FetchedMessage {
  offset: string
  key: Buffer | null
  isControlRecord: boolean
  batchContext: { producerId: string; inTransaction: boolean }
}

export interface AbortedTransaction {
  producerId: string
  firstOffset: string
}

interface FetchedPartition {
  partition: number
  abortedTransactions: AbortedTransaction[] | null
  messages: FetchedMessage[]
}

export interface FetchRequest {
  topics: { topic: string; partitions: { partition: number; fetchOffset: string }[] }[]
}

export interface FetchResponse {
  responses: { topicName: string; partitions: FetchedPartition[] }[]
}

export interface InternalBroker {
  heartbeat(payload: unknown): Promise<unknown>
  joinGroup(payload: unknown): Promise<unknown>
  syncGroup(payload: unknown): Promise<unknown>
  fetch(request: FetchRequest): Promise<FetchResponse>
}

export interface InternalCluster {
  findGroupCoordinator(options: unknown): Promise<InternalBroker>
  findBroker(options: unknown): Promise<InternalBroker>
  findTopicPartitionMetadata(topic: string): unknown[]
}

interface InternalRequestQueue {
  pending: unknown[]
  scheduleCheckPendingRequests(): void
}

const require = createRequire(import.meta.url)

/**
 * kafkajs re-arms a timer for ever on every connection, with a negative delay that Node rounds up to 1 ms
 * (kafkajs issues 1556, 1704, 1751). Without waiting requests there is nothing to check.
 */
export function stopIdleTimers(): void {
  const RequestQueue = require('kafkajs/src/network/requestQueue') as { prototype: InternalRequestQueue }
  const { prototype } = RequestQueue
  const original = prototype.scheduleCheckPendingRequests
  if (original.name === 'onlyWhenPending') return
  prototype.scheduleCheckPendingRequests = function onlyWhenPending() {
    if (this.pending.length > 0) original.call(this)
  }
}
