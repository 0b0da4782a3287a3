import type { Logger } from 'pino'
import { createWorker, type Worker } from '../../create-worker.ts'
import { version } from '../../package.ts'
import { framesOf } from '../../telemetry/error.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { logEvent } from '../../telemetry/logs.ts'
import { command } from '../framework/command.ts'
import { type Signal, untilSignal, within } from '../framework/terminal.ts'
import { configFlag, runnableSettings, sourcesOf } from '../settings.ts'

/** Milliseconds for a stop after requests in flight: the receiver's drain (10 s) and a last commit. */
const stopMs = 15_000
/** Milliseconds for a stop after a failure; then the process exits anyway. */
const stopAfterFailureMs = 3_000
export const run = command({
  about: [
    'Runs the worker: sends commands from the bus to the gateway, and writes results and callbacks to the bus.',
    'Log lines go to standard output. On SIGTERM or SIGINT it finishes requests in flight and exits 0; a second',
    'signal exits at once. Exits 1 if it cannot continue, or if requests in flight do not finish in time:',
    'let a supervisor restart it.',
  ].join('\n'),
  flags: { config: configFlag },
  async run({ config }) {
    const settings = runnableSettings(sourcesOf(config))
    const logger = createLogger(settings.telemetry.logLevel)
    process.on('uncaughtException', error => crash(error, logger))
    const giveUp = new AbortController()
    const starting = createWorker(settings, { logger, signal: giveUp.signal })
    return supervise({
      starting,
      giveUp,
      stopAsked: untilSignal(),
      stopMs: settings.gateway.timeoutMs + stopMs,
      logger,
    })
  },
})

export interface SupervisedWorker {
  /** Rejects with the reason of `giveUp` when that ended the start. */
  starting: Promise<Worker>
  giveUp: AbortController
  stopAsked: Promise<Signal>
  /** The time for a stop, in milliseconds. */
  stopMs: number
  logger: Logger
}

/** Runs a worker until a signal stops it or it fails, also while roles still start. @returns the exit code */
export async function supervise(options: SupervisedWorker): Promise<number> {
  const { starting, giveUp, stopAsked, stopMs, logger } = options
  const failed = starting.then(worker => {
    if (!giveUp.signal.aborted) logEvent(logger, 'worker.started', { version, ...worker.ports })
    return worker.failed
  })
  failed.catch(() => {}) // a start that was given up
  const stop = async () => {
    giveUp.abort()
    const worker = await starting.catch(error => {
      if (error !== giveUp.signal.reason) throw error
    })
    await worker?.close()
  }
  try {
    const signal = await Promise.race([stopAsked, failed])
    logEvent(logger, 'worker.stopping', { signal })
    await within(stopMs, 'the stop', stop())
    logEvent(logger, 'worker.stopped', {})
    return 0
  } catch (error) {
    logEvent(logger, 'worker.failed', { error: error as Error })
    await within(stopAfterFailureMs, 'the stop', stop()).catch(() => {})
    return 1
  }
}

/** Ends the process after an uncaught error. Node would print the error's message, with whatever it quotes. */
function crash(error: Error, logger: Logger): never {
  logEvent(logger, 'worker.crashed', { error, frames: framesOf(error) })
  process.exit(1)
}
