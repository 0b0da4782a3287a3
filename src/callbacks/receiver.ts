import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { OutgoingRecord } from '../bus/port.ts'
import { type Clock, systemClock } from '../clock.ts'
import { drain, listen } from '../listen.ts'
import { placeOf } from '../telemetry/error.ts'
import { guardConnections } from './connections.ts'
import { createIntake, fixedLimits, type IntakeOptions, type SettableLimits } from './intake.ts'
import { reportRefusals } from './refusals.ts'
import { sharePublish } from './shared-publish.ts'

export interface ReceiverOptions extends IntakeOptions {
  /** 0 for any free port. */
  port: number
  host: string
  /** Resolves when all in-sync replicas hold the records. */
  publish: (records: OutgoingRecord[]) => Promise<void>
  /** Called with the outcome of each publish; null when confirmed. */
  published?: (error: Error | null) => void
  /** Answer of /healthz for load balancers; a closing receiver is never healthy. Default: always. */
  healthy?: () => boolean
  limits: SettableLimits & Partial<typeof fixedLimits>
  clock?: Clock
}

/** Headers cost more than their bytes; callbacks have about a dozen. */
const mostHeaders = 100
/** Many senders reconnect at once after an outage. The kernel caps it (net.core.somaxconn). */
const backlog = 4096

/**
 * Serves `POST /hooks/TOKEN` and `POST /hooks/account/ACCOUNT/TOKEN`. Answers 200 only after the event is published.
 * @throws Error when the port cannot be opened
 */
export async function startReceiver(options: ReceiverOptions) {
  const { telemetry, healthy = () => true, clock = systemClock } = options
  const limits = { ...fixedLimits, ...options.limits }
  const { publishMs: timeoutMs, publishEveryMs: everyMs } = limits
  const shared = sharePublish(options.publish, { timeoutMs, everyMs, settled: options.published })
  const take = createIntake(options, limits, shared)
  const endReport = reportRefusals(telemetry, clock)
  let draining = false

  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.ceil(limits.headersMs / 10),
    requireHostHeader: false, // otherwise Node answers such requests itself, bypassing the guard
  })
  const admit = guardConnections(server, limits.connections, () =>
    telemetry.emit('callback.refused', { reason: 'overloaded' }),
  )

  function begin(request: IncomingMessage, response: ServerResponse): void {
    if (!admit(request, response)) return
    if (isHealthCheck(request)) answerHealth(response, healthy() && !draining)
    else void take(request, response, () => draining)
  }

  server.on('request', begin).on('checkContinue', begin).on('checkExpectation', begin)
  server.maxHeadersCount = mostHeaders
  // Closes connections that do not read their answers.
  server.timeout = limits.requestMs + 2 * limits.publishMs
  const port = await listen(server, {
    port: options.port,
    host: options.host,
    backlog,
    what: 'callbacks',
    mend: 'set callbacks.host and callbacks.port (BUSGATE_CALLBACKS_PORT) to a free address',
  }).catch(error => {
    endReport()
    throw error
  })
  // A failed accept, for lack of file descriptors or memory, must not end the process.
  server.on('error', error => telemetry.emit('callback.refused', { reason: 'overloaded', error: placeOf(error) }))

  return {
    port,
    /** Stops accepting, answers requests in flight, and resolves when the last connection is closed. */
    async close(): Promise<void> {
      draining = true
      await drain(server, limits.drainMs)
      await shared.idle()
      endReport()
    },
  }
}

const isHealthCheck = ({ url, method }: IncomingMessage): boolean =>
  url === '/healthz' && (method === 'GET' || method === 'HEAD')

function answerHealth(response: ServerResponse, isHealthy: boolean): void {
  const text = isHealthy ? 'ok\n' : 'stopping\n'
  const headers = {
    'Content-Type': 'text/plain',
    'Content-Length': text.length,
    'Cache-Control': 'no-store',
    Connection: 'close',
  }
  response.writeHead(isHealthy ? 200 : 503, headers).end(text)
}
