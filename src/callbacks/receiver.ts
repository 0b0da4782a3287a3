import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { OutgoingRecord } from '../bus/port.ts'
import { type Clock, systemClock } from '../clock.ts'
import { listen } from '../listen.ts'
import { placeOf } from '../telemetry/error.ts'
import { forwardedFor, senderAt, trustIn } from './addresses.ts'
import { createIntake, type IntakeOptions } from './intake.ts'
import { type ReceiverLimits, receiverLimits } from './limits.ts'
import { reportRefusals } from './refusal-report.ts'
import { type Purse, Senders, type Visit } from './senders.ts'
import { sharePublish } from './shared-publish.ts'
import { Turnstile } from './turnstile.ts'

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
  /** Addresses and ranges of proxies that are believed about who their clients are. */
  trustedProxies?: readonly string[]
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
/** Finding the idle connections takes a look at all of them. */
const makeRoomEveryMs = 1000

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
  const trusts = trustIn(options.trustedProxies ?? [])
  const senders = new Senders({
    bytes: limits.inFlightBytes,
    visits: limits.connections,
    shareOfOne: limits.addressShare,
    refusalsOfOne: limits.addressRefusals,
    actsOfTurn: limits.actsOfTurn,
    clock,
  })
  const connections = new WeakMap<object, { turnstile: Turnstile; visit: Visit; isProxied: boolean }>()
  const endReport = reportRefusals(telemetry, clock)
  let draining = false

  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.ceil(limits.headersMs / 10),
  })
  const [serve] = server.listeners('connection')

  function enter(socket: Socket): void {
    const { remoteAddress: address = '' } = socket
    senders.accepted()
    const isProxied = trusts(address)
    const visit = isProxied ? senders.enterTrusted() : senders.enter(senderAt(address))
    if (visit === null) {
      telemetry.emit('callback.refused', { reason: 'overloaded' })
      socket.resetAndDestroy()
      return
    }
    const turnstile = new Turnstile(socket, { ...limits, ...visit, heads: pacedHeads(visit) })
    connections.set(turnstile, { turnstile, visit, isProxied })
    turnstile.on('close', visit.leave)
    serve?.call(server, turnstile)
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { turnstile, visit, isProxied } = connections.get(request.socket)!
    turnstile.begin(request, response)
    if (isHealthCheck(request)) answerHealth(response, healthy() && !draining)
    else void take(request, response, isProxied ? visitOfClient(request, response, visit) : visit, () => draining)
  }

  /** A request that came through a trusted proxy is counted for its client, where that is named. */
  function visitOfClient(request: IncomingMessage, response: ServerResponse, ofConnection: Visit): Visit | null {
    const client = forwardedFor(request.headers['x-forwarded-for'], trusts)
    if (client === null) return ofConnection
    const visit = senders.enter(senderAt(client))
    response.on('close', () => visit?.leave())
    return visit
  }

  server.removeAllListeners('connection').on('connection', enter)
  server.on('request', begin).on('checkContinue', begin)
  server.maxHeadersCount = mostHeaders
  server.maxConnections = limits.connections
  let roomMadeAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    senders.accepted()
    telemetry.emit('callback.refused', { reason: 'overloaded' })
    if (clock.monotonic() < roomMadeAt + makeRoomEveryMs) return
    roomMadeAt = clock.monotonic()
    server.closeIdleConnections() // so that the next one gets in
  })
  // Whoever reads none of the answers must not keep a connection for ever.
  server.timeout = limits.requestMs + 2 * limits.publishMs
  // Many connect at once when senders come back after an outage.
  const port = await listen(server, {
    port: options.port,
    host: options.host,
    backlog: limits.connections,
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
      senders.hurry()
      await drain(server, limits.drainMs)
      await shared.idle()
      endReport()
    },
  }
}

/** A head for which there is no room is a refusal, so that coming again at once finds no place. */
const pacedHeads = (visit: Visit): Purse => ({
  reserve(bytes) {
    const isKept = visit.heads.reserve(bytes)
    if (!isKept) void visit.refused()
    return isKept
  },
  release: visit.heads.release,
})

const isHealthCheck = ({ url, method }: IncomingMessage): boolean =>
  url === '/healthz' && (method === 'GET' || method === 'HEAD')

function answerHealth(response: ServerResponse, isHealthy: boolean): void {
  const text = isHealthy ? 'ok\n' : 'stopping\n'
  const headers = { 'Content-Type': 'text/plain', 'Content-Length': text.length, 'Cache-Control': 'no-store' }
  response.writeHead(isHealthy ? 200 : 503, headers).end(text)
}

/** `server.close` itself closes the connections that carry no request. */
async function drain(server: Server, drainMs: number): Promise<void> {
  const hurry = setTimeout(() => server.closeAllConnections(), drainMs)
  await new Promise<unknown>(resolve => server.close(resolve))
  clearTimeout(hurry)
}
