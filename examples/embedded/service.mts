// A service of yours with a worker inside: node service.mts. The settings are BUSGATE_… variables, as of `busgate run`.
import { once } from 'node:events'
import { createWorker, loadSettings, Telemetry } from 'busgate'
import { pino } from 'pino'

const logger = pino()
const telemetry = new Telemetry()
const stop = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())

// An event tells of a whole batch or envelope, and holds no text, phone or key.
const sent = { messages: 0 }
telemetry.on('results.published', ({ outcome, count }) => {
  if (outcome === 'SENT') sent.messages += count
})
telemetry.on('account.paused', ({ account, reason, retryInMs }) => {
  logger.warn({ account, reason, retryInMs }, 'nothing is sent through this account for a while')
})

try {
  // Waits for brokers and registry as long as it takes, or until the signal.
  const worker = await createWorker(loadSettings({ env: process.env }), { logger, telemetry, signal: stop.signal })
  worker.failed.catch(error => {
    logger.fatal({ error: error.message }, 'the worker cannot go on')
    process.exitCode = 1 // so that a supervisor starts it anew
    setTimeout(() => process.exit(), 3000).unref() // nothing can be relied on: what does not stop by then is left as it is
    stop.abort()
  })
  logger.info({ ports: worker.ports }, 'the service works')
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  await worker.stop() // what is in flight is finished and committed
  logger.info(sent, 'the service has ended')
} catch (error) {
  if (!stop.signal.aborted) throw error
}
