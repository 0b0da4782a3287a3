import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OutgoingRecord } from '../bus/port.ts'
import { type Clock, systemClock } from '../clock.ts'
import { serveHttp } from '../http/server.ts'
import { placeOf } from '../telemetry/error.ts'
import {
  type CallbackIntakeOptions,
  createCallbackIntake,
  type ReceiverLimits,
  limits as usualLimits,
} from './intake.ts'
import { reportRefusals } from './refusals.ts'
import { sharePublish } from './shared-publish.ts'

export interface ReceiverOptions extends CallbackIntakeOptions {
  /** 0 for any free port. */
  port: number
  host: string
  /** Resolves when all in-sync replicas hold the records. */
  publish: (records: OutgoingRecord[]) => Promise<void>
  /** Called with the outcome of each publish; null when confirmed. */
  published?: (error: Error | null) => void
  /** Answer of /healthz for load balancers; a closing receiver is never healthy. Default: always. */
  healthy?: () => boolean
  /** `callbacks.keepAliveMs` */
  keepAliveMs: number
  limits?: Partial<ReceiverLimits>
  clock?: Clock
}

/**
 * Serves `POST /hooks/TOKEN` and `POST /hooks/account/ACCOUNT/TOKEN`. Answers 200 only after the event is published.
 * @throws Error when the port cannot be opened
 */
export async function startReceiver(options: ReceiverOptions) {
  const { telemetry, healthy = () => true, clock = systemClock } = options
  const limits = { ...usualLimits, ...options.limits }
  const { publishMs: timeoutMs, publishEveryMs: everyMs } = limits
  const shared = sharePublish(options.publish, { timeoutMs, everyMs, settled: options.published })
  const take = createCallbackIntake(options, limits, shared)
  const endReport = reportRefusals(telemetry, clock)
  let draining = false

  const server = {
    port: options.port,
    host: options.host,
    connections: limits.connections,
    headersMs: limits.headersMs,
    requestMs: limits.requestMs,
    keepAliveMs: options.keepAliveMs,
    idleMs: limits.requestMs + 2 * limits.publishMs,
    onOverload: (error?: Error) =>
      telemetry.emit('callback.refused', { reason: 'overloaded', ...(error && { error: placeOf(error) }) }),
    what: 'callbacks',
    mend: 'set callbacks.host and callbacks.port (BUSGATE_CALLBACKS_PORT) to a free address',
  }
  const { port, close } = await serveHttp(server, (request, response) => {
    if (isHealthCheck(request)) answerHealth(response, healthy() && !draining)
    else void take(request, response, () => draining)
  }).catch(error => {
    endReport()
    throw error
  })

  return {
    port,
    /** Stops accepting, answers requests in flight, and resolves when the last connection is closed. */
    async close(): Promise<void> {
      draining = true
      await close(limits.drainMs)
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
