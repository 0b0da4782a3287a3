import { BusUnavailable } from '../errors.ts'

/** What brokers answer while they look for the one that knows, or that one still reads what it has to know. */
export const passing: ReadonlySet<string> = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
])

/** How kafkajs names its errors when no broker answered. */
const unanswered = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSLockTimeout',
  'KafkaJSMetadataNotLoaded',
  'KafkaJSGroupCoordinatorNotFound',
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
  const { name, cause, type = '' } = error as Error & { type?: string }
  return (
    passing.has(type) ||
    unanswered.has(name) ||
    (name === 'KafkaJSNumberOfRetriesExceeded' && isUnanswered(cause ?? {}))
  )
}
