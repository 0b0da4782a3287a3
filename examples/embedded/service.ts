// A service of yours with a worker inside: node service.ts. The settings are BUSGATE_… variables, as of `busgate run`.
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
  logger.info({ ports: worker.ports }, 'the service works')
  try {
    await Promise.race([once(stop.signal, 'abort'), worker.failed])
  } finally {
    await worker.stop() // what is in flight is finished and committed
  }
  logger.info(sent, 'the service has ended')
} catch (error) {
  if (!stop.signal.aborted) throw error // it ends with code 1, and its supervisor starts it anew
}
