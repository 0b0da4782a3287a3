import { createRequire } from 'node:module'

/** The parts of kafkajs 2.2.4 behind its public face that its producers need mended. The version is pinned for this. */

interface InternalRequestQueue {
  pending: unknown[]
  scheduleCheckPendingRequests(): void
}

interface InternalConnection {
  isConnected(): boolean
  connect(): Promise<unknown>
  /** The part of an answer that was read so far; a new answer begins with its length, 4 bytes. */
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

interface InternalMetadata {
  topicMetadata: { topicErrorCode: number }[]
}

/** The versions in which kafkajs asks for metadata. */
const metadataVersions = [0, 1, 2, 3, 4, 5, 6]

/**
 * One partition without a leader, of whatever topic, makes kafkajs throw the whole answer away: while it asks for all
 * topics, as each producer does at its start, no producer of the cluster would come about.
 */
export function keepLeaderless(): void {
  const { failure, createErrorFromCode } = require('kafkajs/src/protocol/error') as {
    failure(code: number): boolean
    createErrorFromCode(code: number): Error
  }
  for (const version of metadataVersions) {
    const answer = require(`kafkajs/src/protocol/requests/metadata/v${version}/response`) as {
      parse(data: InternalMetadata): Promise<InternalMetadata>
    }
    answer.parse = async data => {
      const refused = data.topicMetadata.find(({ topicErrorCode }) => failure(topicErrorCode))
      if (refused) throw createErrorFromCode(refused.topicErrorCode)
      return data
    }
  }
}
