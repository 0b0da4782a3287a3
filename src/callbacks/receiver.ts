import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { OutgoingRecord } from '../bus/port.ts'
import { type Clock, systemClock } from '../clock.ts'
import { listen } from '../listen.ts'
import { placeOf } from '../telemetry/error.ts'
import { Connections } from './connections.ts'
import { createIntake, type IntakeOptions, type ReceiverLimits, receiverLimits } from './intake.ts'
import { reportRefusals } from './refusals.ts'
import { sharePublish } from './shared-publish.ts'

export interface ReceiverOptions extends IntakeOptions {
  /** 0 takes any free port. */
  port: number
  host: string
  /** Resolves when all in-sync replicas hold the records. */
  publish: (records: OutgoingRecord[]) => Promise<void>
  /** Hears what each publish came to; null: the bus has confirmed it. */
  published?: (error: Error | null) => void
  /** What a load balancer is told that asks for /healthz; a receiver that closes is never healthy. Default: always. */
  healthy?: () => boolean
  limits?: Partial<ReceiverLimits>
  clock?: Clock
}

export interface Receiver {
  port: number
  /** Stops accepting, answers what is in flight, and resolves when the last connection is closed. */
  close(): Promise<void>
}

/** Many headers cost more than their bytes; callbacks come with a dozen. */
const mostHeaders = 100
/** Many connect at once when senders come back after an outage. The system allows no more. */
const backlog = 4096

/**
 * Serves `POST /hooks/TOKEN` and `POST /hooks/account/ACCOUNT/TOKEN`. 200 is answered only when the event is on the bus.
 * @throws Error when the port cannot be had.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { telemetry, healthy = () => true, clock = systemClock } = options
  const limits = { ...receiverLimits, ...options.limits }
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
    requireHostHeader: false, // else a request without one is answered unseen by the guard
  })
  const connections = new Connections(server, limits.connections, () =>
    telemetry.emit('callback.refused', { reason: 'overloaded' }),
  )

  function begin(request: IncomingMessage, response: ServerResponse): void {
    if (!connections.begin(request, response)) return
    if (isHealthCheck(request)) answerHealth(response, healthy() && !draining)
    else void take(request, response, () => draining)
  }

  server.on('request', begin).on('checkContinue', begin).on('checkExpectation', begin)
  server.maxHeadersCount = mostHeaders
  // Whoever reads none of the answers must not keep a connection for ever.
  server.timeout = limits.requestMs + 2 * limits.publishMs
  // Many connect at once when senders come back after an outage.
  const port = await listen(server, {
    port: options.port,
    host: options.host,
    backlog,
    what: 'callbacks',
    mend: 'set callbacks.host and callbacks.port to an address that is free',
  }).catch(error => {
    endReport()
    throw error
  })
  // A connection that cannot be accepted, for want of file descriptors or the system's memory, ends nothing else.
  server.on('error', error => telemetry.emit('callback.refused', { reason: 'overloaded', error: placeOf(error) }))

  return {
    port,
    async close() {
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

/** `server.close` itself closes the connections that carry no request. */
async function drain(server: Server, drainMs: number): Promise<void> {
  const hurry = setTimeout(() => server.closeAllConnections(), drainMs)
  await new Promise<unknown>(resolve => server.close(resolve))
  clearTimeout(hurry)
}
