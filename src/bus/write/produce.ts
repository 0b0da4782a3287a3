import type { Brokers } from '../cluster/brokers.ts'
import type { Line } from '../cluster/channels.ts'
import { codeNamed, isTransient, ProtocolError, protocolError } from '../cluster/errors.ts'
import type { RetryBudget } from '../cluster/retry-budget.ts'
import type { TopicPartition } from '../port.ts'
import { type EncodedBatch, type Produced, produce } from './produce-api.ts'

export interface ProduceOptions<B extends EncodedBatch> {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh'>
  transactionalId: string | null
  /** Default: commit. */
  line?: Line | undefined
  retries: RetryBudget
  /** Told of each batch whose write is confirmed, with the offset of its first record; negative if the broker did not say. */
  written?: (batch: B, baseOffset: number) => void
}

/** A batch whose write is not confirmed. */
export interface FailedBatch<B extends EncodedBatch> {
  batch: B
  error: Error
}

/** Longest time that a leader waits for its followers. A request without an answer is retried slightly later. */
const replicationMs = 3000
const answerMs = 4000
const longestPauseMs = 250

/** An earlier attempt was written, but its answer was lost. */
const duplicateSequenceNumber = codeNamed('DUPLICATE_SEQUENCE_NUMBER')

/** Whether to retry; the sequence number prevents a second write of the batch. */
const isRetryable = (error: Error) => !(error instanceof ProtocolError) || isTransient(error)

/**
 * Sends batches to their leaders, one request each, and retries transient failures. A transaction fails with its first
 * refused batch, so nothing is retried then.
 * @returns batches whose write is not confirmed, permanent refusals first
 */
export async function produceBatches<B extends EncodedBatch>(
  batches: readonly B[],
  options: ProduceOptions<B>,
): Promise<FailedBatch<B>[]> {
  const { retries, transactionalId } = options
  const refused: FailedBatch<B>[] = []
  let left = batches
  for (let tries = 0; ; tries++) {
    const unwritten = await sendOnce(left, options)
    refused.push(...unwritten.filter(({ error }) => !isRetryable(error)))
    const again = unwritten.filter(({ error }) => isRetryable(error))
    const isLost = transactionalId !== null && refused.length > 0
    if (again.length === 0 || isLost || !(await retries.pause(tries, longestPauseMs))) return [...refused, ...again]
    left = again.map(({ batch }) => batch)
  }
}

async function sendOnce<B extends EncodedBatch>(
  batches: readonly B[],
  options: ProduceOptions<B>,
): Promise<FailedBatch<B>[]> {
  const { brokers } = options
  const led = await Promise.all(
    batches.map(async batch => ({ batch, leader: await brokers.leader(batch).catch((error: Error) => error) })),
  )
  const sends = [...Map.groupBy(led, ({ leader }) => leader)].map(([leader, of]) => {
    const sent = of.map(({ batch }) => batch)
    return typeof leader === 'number' ? send(leader, sent, options) : allFor(sent, leader)
  })
  const unwritten = (await Promise.all(sends)).flat()
  const moved = unwritten.filter(({ error }) => isRetryable(error) && !isTransient(error, 'transaction'))
  const topics = new Set(moved.map(({ batch }) => batch.topic))
  if (moved.length > 0) await brokers.refresh([...topics]).catch(() => {}) // the retry will show what is wrong
  return unwritten
}

async function send<B extends EncodedBatch>(
  leader: number,
  batches: readonly B[],
  options: ProduceOptions<B>,
): Promise<FailedBatch<B>[]> {
  const { brokers, transactionalId, line = 'commit', retries, written } = options
  try {
    const request = { transactionalId, timeoutMs: replicationMs, batches }
    const limitMs = retries.within(answerMs)
    const { partitions } = await brokers.ask({ node: leader }, produce, [request], { line, limitMs })
    return batches.flatMap(batch => {
      const answer = partitions.find(one => one.partition === batch.partition && one.topic === batch.topic)
      const error = errorOf(batch, answer)
      if (error === null) written?.(batch, answer!.baseOffset)
      return error ? [{ batch, error }] : []
    })
  } catch (error) {
    return allFor(batches, error as Error)
  }
}

const allFor = <B extends EncodedBatch>(batches: readonly B[], error: Error): FailedBatch<B>[] =>
  batches.map(batch => ({ batch, error }))

function errorOf({ topic, partition }: TopicPartition, produced: Produced | undefined): Error | null {
  if (!produced) return new Error(`${topic}/${partition}: the leader's answer left it out: perhaps not written`)
  const { errorCode, errorMessage } = produced
  if (errorCode === 0 || errorCode === duplicateSequenceNumber) return null
  return protocolError(errorCode, `${topic}/${partition}: ${errorMessage || protocolError(errorCode).message}`)
}
