import type { ProducerIdentity } from '../batches/encode-batch.ts'
import type { Brokers } from './brokers.ts'
import { ProtocolError } from './errors.ts'
import { askPatiently, type Patience } from './patience.ts'
import { initProducerId } from './transaction-apis.ts'

/** The age at which brokers end a transaction of a process that is gone. They look every 10 s. */
const transactionTimeoutMs = 10_000

const mayPass = (error: unknown) => error instanceof ProtocolError && error.retriable

/**
 * Makes a producer. Of a transactional id it is the only one from now on: whoever had it is fenced, and its transaction ended.
 * @param transactionalId null: it has no transactions
 * @param from goes on as another epoch of this one, unless somebody else has come since
 */
export function initialiseProducer(
  brokers: Pick<Brokers, 'ask'>,
  transactionalId: string | null,
  patience: Patience,
  from: ProducerIdentity | null = null,
): Promise<ProducerIdentity> {
  const target = transactionalId === null ? 'any' : { transaction: transactionalId }
  const request = { transactionalId, transactionTimeoutMs, from }
  return askPatiently({ brokers, target, patience, mayPass }, initProducerId, request)
}
