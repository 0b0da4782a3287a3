import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Registry } from 'prom-client'
import { drain, listen } from '../listen.ts'

interface TelemetryServerOptions {
  host: string
  /** 0 for any free port. */
  port: number
  metrics: Registry
  /** Whether this process works now; the whole answer is shown. */
  ready: () => { ready: boolean }
  /** Whether this process can continue; if not, restart it. The whole answer is shown. */
  healthy: () => { healthy: boolean }
}

export type TelemetryServer = Awaited<ReturnType<typeof startTelemetryServer>>

/** Longest wait of `close` for requests in flight. */
const hurryMs = 1000

/** Serves GET /metrics, /healthz and /readyz. @throws Error when the port cannot be opened */
export async function startTelemetryServer(options: TelemetryServerOptions) {
  const limits = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 }
  const server = createServer(limits, (request, response) => {
    answer(options, request, response).catch(() => {
      if (!response.headersSent) sendJson(response, 500, { error: 'the metrics could not be collected' })
    })
  })
  const mend = 'set telemetry.host and telemetry.port (BUSGATE_TELEMETRY_PORT) to a free address'
  const port = await listen(server, { host: options.host, port: options.port, what: 'metrics', mend })
  server.on('error', () => {}) // a failed accept, for lack of file descriptors, must not end the process
  return {
    port,
    /** Resolves when requests in flight are answered and the port is closed. */
    close: () => drain(server, hurryMs), // answers are immediate: only a request that is still being sent can be open by then
  }
}

async function answer(
  { metrics, ready, healthy }: TelemetryServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url?.split('?')[0]
  if (path !== '/metrics' && path !== '/healthz' && path !== '/readyz') {
    return sendJson(response, 404, { error: 'not found: there are /metrics, /healthz and /readyz' })
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    return sendJson(response, 405, { error: 'only GET and HEAD are allowed' })
  }
  if (path === '/metrics') {
    const body = await metrics.metrics()
    response.writeHead(200, { 'content-type': metrics.contentType }).end(body)
    return
  }
  const state = path === '/readyz' ? ready() : healthy()
  const good = 'ready' in state ? state.ready : state.healthy
  sendJson(response, good ? 200 : 503, state)
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body))
}
