import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Passed {
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** Monotonic milliseconds when it was read. */
  at: number
}

export interface OwnAnswer {
  status?: number
  headers?: Record<string, string>
  body: string
}

/** A reverse proxy on a free port, as it stands in front of a gateway or of busgate's own receiver. */
export interface Front {
  url: string
  /** Where requests are passed on to. */
  target: string
  /** Oldest first. */
  passed: Passed[]
  /** Answers a request itself instead of passing it on, or passes it on later. */
  answer: (passed: Passed) => OwnAnswer | undefined | Promise<OwnAnswer | undefined>
}

export async function startFront(target = ''): Promise<Front> {
  const agent = new Agent({ keepAlive: true })
  const front: Front = { url: '', target, passed: [], answer: () => undefined }

  const server = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
    const passed = await read(incoming)
    front.passed.push(passed)
    const own = await front.answer(passed)
    if (own) {
      const { status = 200, headers = { 'content-type': 'application/json' }, body } = own
      response.writeHead(status, headers).end(body)
      return
    }
    const onward = request(front.target + passed.path, { method: incoming.method, headers: passed.headers, agent })
    onward.on('response', answer => answer.pipe(response.writeHead(answer.statusCode!, answer.headers)))
    onward.on('error', () => incoming.socket.resetAndDestroy())
    onward.end(passed.body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  front.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  return front
}

async function read(incoming: IncomingMessage): Promise<Passed> {
  const { url = '/', headers } = incoming
  return {
    path: url,
    headers,
    body: Buffer.concat(await incoming.toArray()).toString(),
    at: performance.now(),
  }
}
