import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listen } from '../listen.ts'
import { Board, type BoardOptions } from './board.ts'
import { type PageRefusal, pageRefusalOf, pathOf, safetyHeaders } from './guard.ts'
import { questionOf, Searches, WrongQuestion } from './searches.ts'

export interface UiOptions extends BoardOptions {
  /** 0: any free one. */
  port: number
  /** Address to listen on. Default: 127.0.0.1, which only this machine reaches. */
  host?: string
}

export interface Ui {
  url: string
  /** Resolves when what comes onto the topics is counted. */
  begun(): Promise<void>
  close(): Promise<void>
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Bytes that one page may leave unread; with more its connection is ended, and it comes again by itself. */
const mostUnread = 1024 * 1024
const files = pageFiles()

/**
 * Serves the page. It answers only to names of this machine, whoever can reach it.
 * @throws Error when the port cannot be had
 */
export async function startUi({ host = '127.0.0.1', ...options }: UiOptions): Promise<Ui> {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000 })
  const port = await listen(server, { host, port: options.port, what: 'the page', mend: 'choose another --port' })
  const board = new Board(options)
  const searches = new Searches(options)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response).catch(error => fail(response, error))
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = pageRefusalOf(request)
    if (refusal) return refuse(response, refusal)
    const pathname = pathOf(request.url)
    const file = files.get(pathname)
    if (file) {
      response.writeHead(200, { ...safetyHeaders, 'content-type': file.contentType }).end(file.body)
    } else if (pathname === '/api/now') {
      watch(response)
    } else if (pathname === '/api/messages') {
      const question = questionOf(new URLSearchParams(request.url?.slice(pathname.length)), options.show)
      sendJson(response, 200, await searches.find(question, gone(response)))
    } else refuse(response, { status: 404, text: 'Not found: the page is at /.' })
  }

  /** Server-sent events: what was, and then what is, every other second. */
  function watch(response: ServerResponse): void {
    response.writeHead(200, { ...safetyHeaders, 'content-type': 'text/event-stream' })
    const send = (event: string, data: object) => {
      if (response.writableLength > mostUnread) response.destroy()
      else response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    }
    send('history', board.history())
    send('now', board.now())
    response.on(
      'close',
      board.watch(now => send('now', now)),
    )
  }

  return {
    url: `http://127.0.0.1:${port}/`,
    begun: () => board.begun(),
    async close() {
      server.closeAllConnections()
      await Promise.all([new Promise(resolve => server.close(resolve)), board.close()])
    },
  }
}

/** Aborted when whoever asked is not there any more. */
function gone(response: ServerResponse): AbortSignal {
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
  const status = error instanceof WrongQuestion ? 400 : 500
  sendJson(response, status, { error: error.message })
}

/** JSON for a browser, to which a whole number beyond 2^53 is a string. */
function sendJson(response: ServerResponse, status: number, body: object): void {
  const readable = (_key: string, one: unknown) =>
    typeof one === 'bigint' ? (Number.isSafeInteger(Number(one)) ? Number(one) : String(one)) : one
  response
    .writeHead(status, { ...safetyHeaders, 'content-type': 'application/json' })
    .end(JSON.stringify(body, readable))
}

interface PageFile {
  contentType: string
  body: Buffer
}

/** Reads the files that the browser gets, by their paths: those of page/ as they are, and lit-html as its package has it. */
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
