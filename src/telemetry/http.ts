import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { serveHttp } from '../http/server.ts'

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

/** Probes, and some servers that scrape. All answers are quick, so old connections are floods, whatever they wait for. */
const limits = { connections: 64, closesBusy: true, headersMs: 5_000, requestMs: 10_000, idleMs: 10_000 }
/** Longest wait of `close` for requests in flight. */
const hurryMs = 1000

/** Serves GET /metrics, /healthz and /readyz. @throws Error when the port cannot be opened */
export async function startTelemetryServer(options: TelemetryServerOptions) {
  const scrape = sharedScrape(options.metrics)
  const { host, port: wanted } = options
  const mend = 'set telemetry.host and telemetry.port (BUSGATE_TELEMETRY_PORT) to a free address'
  const { port, close } = await serveHttp({ ...limits, host, port: wanted, what: 'metrics', mend }, (...exchange) => {
    const [, response] = exchange
    response.shouldKeepAlive = false // whatever the client sends behind its request is not read
    answer(options, scrape, ...exchange).catch(() => {
      if (!response.headersSent) sendJson(response, 500, { error: 'the metrics could not be collected' })
    })
  })
  return {
    port,
    /** Resolves when requests in flight are answered and the port is closed. */
    close: () => close(hurryMs), // answers are immediate: only a request that is still being sent can be open by then
  }
}

/** Scrapes may use a tenth of the process's time. */
const restsPerScrape = 9
const longestRestMs = 1000

/**
 * Collects the metrics once for all requests that wait, however many there are.
 * @returns a function that returns the text of a collection that begins after the call
 */
function sharedScrape(metrics: Registry): () => Promise<Buffer> {
  let next: Promise<Buffer> | null = null
  /** Resolves when the next collection may begin. */
  let free: Promise<void> = Promise.resolve()
  let begun = 0

  async function collect(): Promise<Buffer> {
    next = null // later requests want to see what happens from now on
    begun = performance.now()
    return Buffer.from(await metrics.metrics())
  }

  const rest = () =>
    sleep(Math.min(longestRestMs, restsPerScrape * (performance.now() - begun)), undefined, { ref: false })

  return () => {
    if (next) return next
    next = free.then(collect)
    free = next.then(rest, rest)
    return next
  }
}

async function answer(
  { metrics, ready, healthy }: TelemetryServerOptions,
  scrape: () => Promise<Buffer>,
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
    const body = await scrape()
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
