// Your service with a worker inside: node service.mts. Settings: BUSGATE_… variables, as for `busgate run`.
import { once } from 'node:events'
import { createWorker, loadSettings, Telemetry } from 'busgate'
import { pino } from 'pino'

const logger = pino()
const telemetry = new Telemetry()
const stop = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())

// An event is about a whole batch or envelope. It holds no text, phone or key.
const sent = { messages: 0 }
telemetry.on('results.published', ({ outcome, count }) => {
  if (outcome === 'SENT') sent.messages += count
})
telemetry.on('account.paused', ({ account, reason, retryInMs }) => {
  logger.warn({ account, reason, retryInMs }, 'this account sends only probes until one passes')
})

try {
  // Waits for brokers, registry and gateway as long as it takes, or until the signal.
  const worker = await createWorker(loadSettings({ env: process.env }), { logger, telemetry, signal: stop.signal })
  worker.failed.catch(error => {
    logger.fatal({ error: error.message }, 'the worker cannot continue')
    process.exitCode = 1 // so that a supervisor restarts it
    setTimeout(() => process.exit(), 3000).unref() // ends the process even if the stop hangs
    stop.abort()
  })
  logger.info({ ports: worker.ports }, 'the service has started')
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  await worker.close() // finishes and commits what is in flight
  logger.info(sent, 'the service has stopped')
} catch (error) {
  if (!stop.signal.aborted) throw error
}
