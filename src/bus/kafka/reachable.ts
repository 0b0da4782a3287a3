import { BusUnavailable } from '../errors.ts'
import { ProtocolError, Unanswered } from '../wire/errors.ts'

/** Brokers answer so while they look for the one that knows, or while that one still reads what it has to know. */
export const passing: ReadonlySet<string> = new Set([
  'NOT_COORDINATOR',
  'COORDINATOR_NOT_AVAILABLE',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_OR_FOLLOWER',
])

/** Passes on what was asked of the brokers. @throws BusUnavailable where they did not answer, or do not know yet */
export async function reachable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    throw isOutage(error) ? new BusUnavailable(`no broker answers: ${error.message}`, { cause: error }) : error
  }
}

function isOutage(error: unknown): error is Error {
  return error instanceof Unanswered || (error instanceof ProtocolError && passing.has(error.type))
}
