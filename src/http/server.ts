import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type ConnectionLimits, guardConnections } from './connections.ts'
import { drain, type Listening, listen } from './listen.ts'

export interface ServerOptions extends Listening, ConnectionLimits {
  /** Time-outs for a request's headers, and for the whole request. */
  headersMs: number
  requestMs: number
  /** How long an idle connection stays open. Default: as Node decides. */
  keepAliveMs?: number
  /** Longest time without a byte while an answer is made or read; 0: unlimited. */
  idleMs: number
  /** Called for each connection that is closed because of the limit, or, with the error, cannot be accepted. */
  onOverload?: (error?: Error) => void
}

/** Many clients may connect at once, as after an outage. The kernel caps it (net.core.somaxconn). */
const backlog = 4096
/** Headers cost more than their bytes. Senders need about a dozen. */
const mostHeaders = 100

/**
 * Serves HTTP/1.1 so that no client can harm the process or keep other clients out, whatever it sends: connections, headers
 * and time are bounded, and each connection has one request at a time.
 * @param handle answers a request; must not throw
 * @throws Error with the remedy when the port cannot be opened
 */
export async function serveHttp(
  options: ServerOptions,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const { headersMs, requestMs, keepAliveMs, idleMs, onOverload = () => {} } = options
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    ...(keepAliveMs !== undefined && { keepAliveTimeout: keepAliveMs }),
    connectionsCheckingInterval: Math.ceil(headersMs / 10),
    requireHostHeader: false, // otherwise Node answers such requests itself, bypassing the guard
  })
  const admit = guardConnections(server, options)
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    if (admit(request, response)) handle(request, response)
  }
  server.on('request', begin).on('checkContinue', begin).on('checkExpectation', begin)
  server.maxHeadersCount = mostHeaders
  server.timeout = idleMs
  const port = await listen(server, { ...options, backlog })
  server.on('error', onOverload) // a failed accept, for lack of file descriptors or memory, must not end the process
  return {
    port,
    /** Closes the port; resolves when requests in flight are answered, or are cut off after `ms`. */
    close: (ms: number) => drain(server, ms),
  }
}
