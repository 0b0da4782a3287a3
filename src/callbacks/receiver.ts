import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isOperationType } from '../protocol/registry.ts'
import type { StatusEvent } from '../records/generated.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { parseCallback, readBody, unfitHeaders } from './body.ts'
import { statusEvent } from './event.ts'
import { type CallbackOrigin, originOf } from './origin.ts'
import { type Refusal, refusals } from './refusals.ts'
import { inTime, type SharedPublish, sharePublish } from './shared-publish.ts'
import type { HookTokens } from './token.ts'

export interface ReceiverLimits {
  /** Largest body, in bytes. */
  bodyBytes: number
  /** Deepest nesting of a body. The interface needs 3. */
  jsonDepth: number
  /** Bodies held at one time over all connections, in bytes, with `REQUEST_BYTES` for each request. */
  inFlightBytes: number
  connections: number
  /** How long the headers of a request may take to arrive. */
  headersMs: number
  /** How long a whole request may take to arrive; at least `headersMs`. */
  requestMs: number
  /** How long a publish or a dead letter may take before its callbacks are answered 503. */
  publishMs: number
  /** How long `close` waits for what is in flight. */
  drainMs: number
}

/** A callback waits for the publish in flight and then for its own: together within 10 s, as senders usually wait. */
export const receiverLimits: ReceiverLimits = {
  bodyBytes: 64 * 1024,
  jsonDepth: 20,
  inFlightBytes: 32 * 1024 * 1024,
  connections: 4096,
  headersMs: 5_000,
  requestMs: 10_000,
  publishMs: 5_000,
  drainMs: 5_000,
}

export interface ReceiverOptions {
  /** 0 takes any free port. */
  port: number
  host: string
  tokens: Pick<HookTokens, 'open' | 'openAccount'>
  /** Resolves when all in-sync replicas hold the events. */
  publish: (events: StatusEvent[]) => Promise<void>
  /** Takes a callback of the account's address that belongs to no command of ours; resolves when it is kept. */
  deadLetter: (body: Buffer, error: { code: string; message: string }) => Promise<void>
  telemetry: Telemetry
  limits?: Partial<ReceiverLimits>
  now?: () => number
}

export interface Receiver {
  port: number
  /** Stops accepting, answers what is in flight, and resolves when the last connection is closed. */
  close(): Promise<void>
}

type Reserve = (bytes: number) => boolean

const REQUEST_BYTES = 1024
const KEEP_ALIVE_MS = 65_000

/**
 * Serves `POST /hooks/TOKEN` and `POST /hooks/account/ACCOUNT/TOKEN`. 200 is answered only when the event is on the bus.
 * @throws Error when the port cannot be had.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { tokens, deadLetter, telemetry, now = Date.now } = options
  const limits = { ...receiverLimits, ...options.limits }
  const shared = sharePublish(options.publish, limits.publishMs)
  let inFlightBytes = 0
  let draining = false

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let held = 0
    const reserve: Reserve = bytes => {
      if (inFlightBytes + bytes > limits.inFlightBytes) return false
      inFlightBytes += bytes
      held += bytes
      return true
    }
    const refusal = await receive(request, reserve).catch((): Refusal => 'failed')
    inFlightBytes -= held
    if (refusal !== null) telemetry.emit('callback.refused', { reason: refusal })
    answer(response, refusal, draining)
  }

  /** Null when the callback is kept. */
  async function receive(request: IncomingMessage, reserve: Reserve): Promise<Refusal | null> {
    if (request.method !== 'POST') return 'method'
    const origin = originOf(request.url ?? '', tokens)
    if (typeof origin === 'string') return origin
    const unfit = unfitHeaders(request.headers, limits.bodyBytes)
    if (unfit !== null) return unfit
    if (!reserve(REQUEST_BYTES)) return 'overloaded'
    const bytes = await readBody(request, limits.bodyBytes, reserve)
    if (typeof bytes === 'string') return bytes
    const body = parseCallback(bytes, limits.jsonDepth)
    if (typeof body === 'string') return body
    const made = statusEvent(origin, body, now())
    if (made.ok) return keep(made.event, origin, bytes.length)
    if (made.reason === 'other_id') return 'other_id'
    return settled(inTime(deadLetter(bytes, made.error), limits.publishMs))
  }

  async function keep(event: StatusEvent, origin: CallbackOrigin, bytes: number): Promise<Refusal | null> {
    const refusal = await settled(shared.add(event, bytes))
    if (refusal === null) report(telemetry, event, origin)
    return refusal
  }

  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: Math.ceil(limits.headersMs / 10),
    },
    (request, response) => void handle(request, response),
  )
  server.maxConnections = limits.connections
  server.on('drop', () => telemetry.emit('callback.refused', { reason: 'overloaded' }))
  await listen(server, options.port, options.host)

  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      draining = true
      return drain(server, shared, limits.drainMs)
    },
  }
}

/** A status, and for people a sentence that repeats nothing of what was sent. */
function answer(response: ServerResponse, refusal: Refusal | null, last: boolean): void {
  if (last) response.setHeader('Connection', 'close')
  if (refusal === null) {
    response.writeHead(200, { 'Content-Length': 0 }).end()
    return
  }
  const { status, text, headers } = refusals[refusal]
  response.writeHead(status, { 'Content-Type': 'text/plain', ...headers }).end(`${text}\n`)
}

/** A promise of the bus as the answer to one callback. */
function settled(kept: Promise<void>): Promise<Refusal | null> {
  return kept.then(
    () => null,
    () => 'not_published',
  )
}

function report(telemetry: Telemetry, event: StatusEvent, origin: CallbackOrigin): void {
  const type = isOperationType(event.type) ? event.type : 'other'
  telemetry.emit('callback.accepted', { type, state: event.state, verified: event.verified })
  if (origin.kind === 'message' && event.state === 'DELIVERED') {
    telemetry.emit('delivery.latency', { type, seconds: (event.receivedAt - origin.subject.issuedAt) / 1000 })
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** `server.close` itself closes the connections that carry no request. */
async function drain(server: Server, shared: SharedPublish, drainMs: number): Promise<void> {
  const hurry = setTimeout(() => server.closeAllConnections(), drainMs)
  await new Promise<unknown>(resolve => server.close(resolve))
  clearTimeout(hurry)
  await shared.idle()
}
