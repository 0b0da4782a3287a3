import { createRequire } from 'node:module'
import type { RecordHeaders } from '../port.ts'

/** The parts of kafkajs 2.2.4 behind its public face that the adapter holds on to. The version is pinned for this. */

export interface FetchedMessage {
  offset: number
  key: Buffer | null
  isControlRecord: boolean
  batchContext: { producerId: string; inTransaction: boolean }
}

export interface DecodedMessage extends FetchedMessage {
  timestamp: number
  value: Buffer | null
  headers: RecordHeaders
  /** Stands for a whole batch, and why that cannot be read. */
  unreadable?: { error: unknown; lastOffset: number }
}

export interface AbortedTransaction {
  producerId: string
  firstOffset: string
}

export interface FetchedPartition {
  partition: number
  errorCode: number
  highWatermark: number
  abortedTransactions: AbortedTransaction[] | null
  /** Batches, one after the other; the last one may be cut off. */
  bytes: Buffer
}

export interface FetchRequest {
  maxWaitTime?: number
  minBytes?: number
  maxBytes?: number
  isolationLevel?: 1
  topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes?: number }[] }[]
}

export interface FetchResponse {
  responses: { topicName: string; partitions: FetchedPartition[] }[]
}

export interface ListOffsetsRequest {
  isolationLevel: 0 | 1
  topics: { topic: string; partitions: { partition: number; timestamp: number }[] }[]
}

export interface ListOffsetsResponse {
  responses: { topic: string; partitions: { partition: number; errorCode: number; offset: string }[] }[]
}

export interface OffsetFetchRequest {
  groupId: string
  topics: { topic: string; partitions: { partition: number }[] }[]
}

export interface OffsetFetchResponse {
  errorCode: number
  responses: {
    topic: string
    /** An offset of -1: there is none. */
    partitions: { partition: number; offset: number; metadata: string | null; errorCode: number }[]
  }[]
}

export interface TopicMetadata {
  topic: string
  topicErrorCode: number
  /** `leader` is -1 while there is none. */
  partitionMetadata: { partitionId: number; partitionErrorCode: number; leader: number }[]
}

/** Makes what is sent for a request, and reads what is answered. */
export type ApiRequest = (args: unknown) => {
  request: { apiKey: number; apiName: string; apiVersion: number; encode(): Promise<unknown> }
  response: { decode(payload: Buffer): Promise<unknown>; parse(data: unknown): Promise<unknown> }
}

interface GroupMemberRequest {
  groupId: string
  memberId: string
}

/** The member and what it offers, then what the group made of it. */
interface JoinGroupRequest extends GroupMemberRequest {
  sessionTimeout: number
  rebalanceTimeout: number
  groupProtocols: { name: string; metadata: Buffer }[]
}

interface JoinGroupResponse {
  generationId: number
  leaderId: string
  memberId: string
  members: { memberId: string; memberMetadata: Buffer }[]
}

interface SyncGroupRequest extends GroupMemberRequest {
  generationId: number
  groupAssignment: { memberId: string; memberAssignment: Buffer }[]
}

export interface InternalBroker {
  findGroupCoordinator(request: { groupId: string; coordinatorType: 0 }): Promise<{ coordinator: { nodeId: number } }>
  heartbeat(request: GroupMemberRequest & { groupGenerationId: number }): Promise<unknown>
  joinGroup(request: JoinGroupRequest): Promise<JoinGroupResponse>
  syncGroup(request: SyncGroupRequest): Promise<{ memberAssignment: Buffer }>
  leaveGroup(request: GroupMemberRequest): Promise<unknown>
  describeGroups(request: { groupIds: string[] }): Promise<{ groups: { state: string }[] }>
  fetch(request: FetchRequest): Promise<FetchResponse>
  listOffsets(request: ListOffsetsRequest): Promise<ListOffsetsResponse>
  offsetFetch(request: OffsetFetchRequest): Promise<OffsetFetchResponse>
  /** Chooses the newest version that both sides speak. Set anew with each connection. */
  lookupRequest(apiKey: number, definitions: unknown): ApiRequest
}

/** A broker's connections: one for fetches, one for everything else. */
export interface ConnectionPool {
  getConnection(index?: number): Promise<unknown>
}

export interface InternalCluster {
  getNodeIds(): string[]
  /** Connects if need be; refreshes the metadata when that fails. */
  findBroker(options: { nodeId: number | string }): Promise<InternalBroker>
  findTopicPartitionMetadata(topic: string): unknown[]
  /** The topics that refreshMetadata asks for; asks for them when there are new ones. */
  addMultipleTargetTopics(topics: string[]): Promise<void>
  refreshMetadata(): Promise<void>
  brokerPool: {
    createBroker(options: { connectionPool: ConnectionPool }): InternalBroker
    metadata: { topicMetadata: TopicMetadata[] } | null
  }
}

interface InternalRequestQueue {
  pending: unknown[]
  scheduleCheckPendingRequests(): void
}

interface InternalConnection {
  isConnected(): boolean
  connect(): Promise<unknown>
  /** What was read of an answer so far; a new answer begins with its length, 4 bytes. */
  chunks: Buffer[]
  bytesBuffered: number
  bytesNeeded: number
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

/**
 * A connection that breaks in the middle of an answer keeps what it had read, and kafkajs reads the next connection's
 * bytes behind it: answers to nobody, or an exception in a socket's callback, which ends the process.
 */
export function forgetHalfReadAnswers(): void {
  const { prototype } = require('kafkajs/src/network/connection') as { prototype: InternalConnection }
  const original = prototype.connect
  if (original.name === 'fromTheBeginning') return
  prototype.connect = function fromTheBeginning() {
    if (!this.isConnected()) Object.assign(this, { chunks: [], bytesBuffered: 0, bytesNeeded: 4 })
    return original.call(this)
  }
}
