import type { Logger } from 'pino'
import { logEvent } from '../../telemetry/logs.ts'
import type { Worker } from '../../worker.ts'
import { within } from '../framework/within.ts'

/** A start may wait for the registry without end. */
const stopWhileStartingMs = 5_000

export interface StartingWorker {
  /** Rejects with the reason of `giveUp` when that ended it. */
  starting: Promise<Worker>
  giveUp: AbortController
  /** Whether one of its roles has begun its work: what that has in flight is to be finished. */
  hasBegun: () => boolean
  /** How long that may take. */
  stopMs: number
  logger: Logger
}

/** Ends a worker of which not all roles have started. @returns the exit code */
export async function stopWhileStarting(worker: StartingWorker): Promise<number> {
  const { starting, giveUp, hasBegun, stopMs, logger } = worker
  giveUp.abort()
  const stopped = starting
    .then(started => started.stop())
    .catch(error => {
      if (error !== giveUp.signal.reason) throw error
    })
  stopped.catch(() => {}) // without a role that has begun, nobody asks for it
  await within(stopWhileStartingMs, 'the start', stopped).catch(() => {})
  if (!hasBegun()) return 0
  try {
    await within(stopMs - stopWhileStartingMs, 'the stop', stopped)
    logEvent(logger, 'worker.stopped', {})
    return 0
  } catch (error) {
    logEvent(logger, 'worker.failed', { error: error as Error })
    return 1
  }
}
