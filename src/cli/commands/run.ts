import type { Logger } from 'pino'
import type { Settings } from '../../config/index.ts'
import { version } from '../../package.ts'
import { framesOf } from '../../telemetry/error.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { createLogger, logEvent } from '../../telemetry/logs.ts'
import { createWorker, type Worker } from '../../worker.ts'
import { command } from '../framework/command.ts'
import { type Signal, untilSignal, within } from '../framework/terminal.ts'
import { configFlag, runnableSettings, sourcesOf } from '../settings.ts'

/** The time for a stop beyond what is in flight: the receiver's own drain (10 s) and a last commit. */
const stopMs = 15_000
/**
 * The time for a stop after a failure, when nothing can be relied on: whatever has not stopped by then is left as it
 * is.
 */
const stopAfterFailureMs = 3_000
export const run = command({
  about: [
    'Runs the worker: sends commands from the bus to the gateway, and writes results and callbacks to the bus.',
    'Log lines go to standard output. On SIGTERM or SIGINT it finishes requests in flight and exits 0; a second',
    'signal exits at once. Exits 1 if it cannot continue, so that its supervisor restarts it, and if',
    'requests in flight do not finish in time.',
  ].join('\n'),
  flags: { config: configFlag },
  async run({ config }) {
    const settings = runnableSettings(sourcesOf(config))
    const logger = createLogger(settings.telemetry.logLevel)
    process.on('uncaughtException', error => crash(error, logger))
    const stopAsked = untilSignal()
    const giveUp = new AbortController()
    const telemetry = new Telemetry()
    let hasBegun = false
    telemetry.on('role.started', () => {
      hasBegun = true
    })
    const starting = createWorker(settings, { logger, telemetry, signal: giveUp.signal })
    const started = await Promise.race([starting, stopAsked]).catch(error => error as Error)
    if (started instanceof Error) {
      logEvent(logger, 'worker.failed', { error: started })
      return 1
    }
    const inAllMs = inFlightMs(settings) + stopMs
    if (typeof started !== 'string') return supervise(started, stopAsked, inAllMs, logger)
    logEvent(logger, 'worker.stopping', { signal: started })
    return stopWhileStarting({ starting, giveUp, hasBegun: () => hasBegun, stopMs: inAllMs, logger })
  },
})

/** Tells how late a request may be answered that is in flight when the stop begins. */
const inFlightMs = ({ kafka, gateway }: Settings) => Math.max(kafka.drainMs, gateway.timeoutMs)

async function supervise(worker: Worker, stopAsked: Promise<Signal>, ms: number, logger: Logger): Promise<number> {
  logEvent(logger, 'worker.started', { version, ...worker.ports })
  try {
    const signal = await Promise.race([stopAsked, worker.failed])
    logEvent(logger, 'worker.stopping', { signal })
    await within(ms, 'the stop', worker.stop())
    logEvent(logger, 'worker.stopped', {})
    return 0
  } catch (error) {
    logEvent(logger, 'worker.failed', { error: error as Error })
    await within(stopAfterFailureMs, 'the stop', worker.stop()).catch(() => {})
    return 1
  }
}

/**
 * Ends the process after an error that nobody caught. Node itself would print it as it is, with whatever its message
 * quotes.
 */
function crash(error: Error, logger: Logger): never {
  logEvent(logger, 'worker.crashed', { error, frames: framesOf(error) })
  process.exit(1)
}

/** A start may wait for the registry without end. */
const stopWhileStartingMs = 5_000

interface StartingWorker {
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
