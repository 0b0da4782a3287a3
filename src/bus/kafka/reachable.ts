import { BusUnavailable } from '../errors.ts'

/** How kafkajs names its errors when no broker answered. */
const unanswered = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSLockTimeout',
  'KafkaJSMetadataNotLoaded',
])

/** Passes on what was asked of the brokers. @throws BusUnavailable instead of kafkajs's many words for it */
export async function reachable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    throw isUnanswered(error) ? new BusUnavailable(`no broker answers: ${error.message}`, { cause: error }) : error
  }
}

/** kafkajs wraps the last error of a series in one that says how many there were. */
function isUnanswered(error: unknown): error is Error {
  const { name, cause } = error as Error
  return unanswered.has(name) || (name === 'KafkaJSNumberOfRetriesExceeded' && isUnanswered(cause ?? {}))
}
