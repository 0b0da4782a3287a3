import type { Brokers } from '../cluster/brokers.ts'
import { ProtocolError, passes, protocolError } from '../cluster/errors.ts'
import type { Patience } from '../cluster/patience.ts'
import type { TopicPartition } from '../port.ts'
import { type EncodedBatch, type Produced, produce } from './produce-api.ts'

export interface ProduceOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh'>
  transactionalId: string | null
  patience: Patience
}

/** Unwritten is what became of a batch that is not known to be written. */
export interface Unwritten<B extends EncodedBatch> {
  batch: B
  error: Error
}

/** How long a leader waits for its followers; one that does not answer a little later is asked again. */
const replicationMs = 3000
const answerMs = 4000
const longestPauseMs = 250

/** An earlier try was written, though its answer was not heard. */
const duplicateSequenceNumber = 46

/** Tells whether the same batch may be sent again: its sequence number keeps it from being written twice. */
const mayPass = (error: Error) => !(error instanceof ProtocolError) || passes(error)

/**
 * Sends batches to their leaders, one request each, and again what may be written yet. A transaction is lost with any of
 * its batches, so that nothing is sent again then.
 * @returns those that are not known to be written, with what will not pass before the others
 */
export async function produceBatches<B extends EncodedBatch>(
  batches: readonly B[],
  options: ProduceOptions,
): Promise<Unwritten<B>[]> {
  const { patience, transactionalId } = options
  const refused: Unwritten<B>[] = []
  let left = batches
  for (let tries = 0; ; tries++) {
    const unwritten = await sendOnce(left, options)
    refused.push(...unwritten.filter(({ error }) => !mayPass(error)))
    const again = unwritten.filter(({ error }) => mayPass(error))
    const isLost = transactionalId !== null && refused.length > 0
    if (again.length === 0 || isLost || !(await patience.pause(tries, longestPauseMs))) return [...refused, ...again]
    left = again.map(({ batch }) => batch)
  }
}

async function sendOnce<B extends EncodedBatch>(
  batches: readonly B[],
  options: ProduceOptions,
): Promise<Unwritten<B>[]> {
  const { brokers } = options
  const led = await Promise.all(batches.map(async batch => ({ batch, leader: await leaderOf(brokers, batch) })))
  const sends = [...Map.groupBy(led, ({ leader }) => leader)].map(([leader, of]) => {
    const sent = of.map(({ batch }) => batch)
    return typeof leader === 'number' ? send(leader, sent, options) : allFor(sent, leader)
  })
  const unwritten = (await Promise.all(sends)).flat()
  const moved = unwritten.filter(({ error }) => mayPass(error) && !passes(error, 'transaction'))
  const topics = new Set(moved.map(({ batch }) => batch.topic))
  if (moved.length > 0) await brokers.refresh([...topics]).catch(() => {}) // the next try tells
  return unwritten
}

async function leaderOf(brokers: ProduceOptions['brokers'], tp: TopicPartition): Promise<number | Error> {
  return brokers.leader(tp).catch((error: Error) => error)
}

async function send<B extends EncodedBatch>(
  leader: number,
  batches: readonly B[],
  options: ProduceOptions,
): Promise<Unwritten<B>[]> {
  const { brokers, transactionalId, patience } = options
  try {
    const request = { transactionalId, timeoutMs: replicationMs, batches }
    const limitMs = patience.within(answerMs)
    const answer = await brokers.ask({ node: leader }, produce, [request], { line: 'commit', limitMs })
    return batches.flatMap(batch => {
      const error = errorOf(batch, answer)
      return error ? [{ batch, error }] : []
    })
  } catch (error) {
    return allFor(batches, error as Error)
  }
}

const allFor = <B extends EncodedBatch>(batches: readonly B[], error: Error): Unwritten<B>[] =>
  batches.map(batch => ({ batch, error }))

function errorOf({ topic, partition }: TopicPartition, answer: readonly Produced[]): Error | null {
  const produced = answer.find(one => one.partition === partition && one.topic === topic)
  if (!produced) return new Error(`${topic}/${partition}: the answer of its leader lacks it: perhaps not written`)
  const { errorCode, errorMessage } = produced
  if (errorCode === 0 || errorCode === duplicateSequenceNumber) return null
  return protocolError(errorCode, `${topic}/${partition}: ${errorMessage || protocolError(errorCode).message}`)
}
