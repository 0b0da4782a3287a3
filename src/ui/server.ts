import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasBody } from '../http/connections.ts'
import { serveHttp } from '../http/server.ts'
import { bigintAsText } from '../protocol/json.ts'
import { Board, type BoardOptions } from './board.ts'
import { InvalidSearch, Searches, searchRequestOf } from './searches.ts'
import { Viewers } from './viewers.ts'

export interface UiOptions extends BoardOptions {
  /** 0 for any free port. */
  port: number
  /** Address to listen on. Default: 127.0.0.1, reachable only from this machine. */
  host?: string
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** A search takes as long as it takes, hence no `idleMs`. */
const limits = { connections: 100, headersMs: 5_000, requestMs: 10_000, idleMs: 0 }
const files = pageFiles()

/**
 * Serves the page. Answers only requests for names of this machine, wherever they come from.
 * @throws Error when the port cannot be opened
 */
export async function startUi({ host = '127.0.0.1', ...options }: UiOptions) {
  const board = new Board(options)
  const viewers = new Viewers(board)
  const searches = new Searches(options)
  const address = { host, port: options.port, what: 'the page', mend: 'choose another --port' }
  const server = await serveHttp({ ...limits, ...address }, (request, response) => {
    if (hasBody(request)) response.shouldKeepAlive = false // the body is not read
    answer(request, response).catch(error => fail(response, error))
  }).catch(async error => {
    await board.close()
    throw error
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = pageRefusalOf(request)
    if (refusal) return refuse(response, refusal)
    const pathname = pathOf(request.url)
    const file = files.get(pathname)
    if (file) {
      response.writeHead(200, { ...safetyHeaders, 'content-type': file.contentType }).end(file.body)
    } else if (pathname === '/api/now') {
      response.writeHead(200, { ...safetyHeaders, 'content-type': 'text/event-stream' })
      viewers.add(response)
    } else if (pathname === '/api/messages') {
      const search = searchRequestOf(new URLSearchParams(request.url?.slice(pathname.length)), options.reveal)
      sendJson(response, 200, await searches.find(search, disconnectSignal(response)))
    } else refuse(response, { status: 404, text: 'Not found: the page is at /.' })
  }

  return {
    url: `http://127.0.0.1:${server.port}/`,
    /** Resolves when new records of the topics are being counted. */
    begun: () => board.begun(),
    async close(): Promise<void> {
      await Promise.all([server.close(0), board.close()])
    },
  }
}

/** A signal that aborts when the client disconnects. */
function disconnectSignal(response: ServerResponse): AbortSignal {
  const ending = new AbortController()
  response.on('close', () => ending.abort())
  return ending.signal
}

function refuse(response: ServerResponse, { status, text, headers }: PageRefusal): void {
  response
    .writeHead(status, { ...safetyHeaders, ...headers, 'content-type': 'text/plain; charset=utf-8' })
    .end(`${text}\n`)
}

function fail(response: ServerResponse, error: Error): void {
  if (response.destroyed || response.headersSent) return
  const status = error instanceof InvalidSearch ? 400 : 500
  sendJson(response, status, { error: error.message })
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { ...safetyHeaders, 'content-type': 'application/json' })
    .end(JSON.stringify(body, bigintAsText))
}

interface PageFile {
  contentType: string
  body: Buffer
}

/** Loads the files for the browser by path: those of page/, and lit-html from its package. */
function pageFiles(): ReadonlyMap<string, PageFile> {
  const folder = new URL('./page/', import.meta.url)
  const files = readdirSync(folder).map((name): [string, URL] => [`/${name}`, new URL(name, folder)])
  files.push(['/lit-html.js', new URL(import.meta.resolve('lit-html'))])
  const found = files.flatMap(([path, file]): [string, PageFile][] => {
    const contentType = types[extname(path)]
    return contentType ? [[path, { contentType, body: readFileSync(fileURLToPath(file)) }]] : []
  })
  const page = new Map(found)
  return page.set('/', page.get('/index.html')!)
}

/** Loopback names with any port, since a tunnel may use another one. */
const ownNames = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i

/** Sent with every answer. The page loads scripts, images and data only from this server. */
export const safetyHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types lit-html',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** The path of a request target; `//` and targets that are not paths stay unchanged. */
export function pathOf(url = '/'): string {
  return url.split('?', 1)[0]!
}

export interface PageRefusal {
  status: number
  /** A sentence for the user. */
  text: string
  headers?: Record<string, string>
}

/**
 * Why a request is refused; null if it is not. Another web site, open in the same browser, can reach this server under its own
 * name, resolved to 127.0.0.1 (DNS rebinding), or cross-site. Both are refused.
 */
export function pageRefusalOf({ method, url, headers }: IncomingMessage): PageRefusal | null {
  if (!ownNames.test(headers.host ?? '')) {
    const text =
      'This page answers only under localhost, 127.0.0.1 and [::1], so that no other web site can read it. ' +
      'Open it under one of these names; from another machine, through a tunnel (ssh -L).'
    return { status: 403, text }
  }
  const site = headers['sec-fetch-site']
  // Links to the page are harmless. Requests to the API would cost searches and connections.
  const isOpened =
    headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document' && pathOf(url) === '/'
  if ((site === 'cross-site' || site === 'same-site') && !isOpened) {
    return { status: 403, text: 'This page does not answer other web sites.' }
  }
  if (method !== 'GET') return { status: 405, text: 'This page only reads: GET is allowed.', headers: { allow: 'GET' } }
  return null
}
