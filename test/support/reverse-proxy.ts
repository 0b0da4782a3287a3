import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ProxiedRequest {
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** Monotonic milliseconds when its body had been read. */
  at: number
}

export interface ProxyAnswer {
  status?: number
  headers?: Record<string, string>
  body: string
}

/** A reverse proxy, in front of a gateway or of busgate's own receiver. */
export interface ReverseProxy {
  url: string
  /** Where requests are forwarded to. */
  target: string
  /** Oldest first. */
  requests: ProxiedRequest[]
  /** Answers a request itself instead of forwarding it, or forwards it later. */
  answer: (request: ProxiedRequest) => ProxyAnswer | undefined | Promise<ProxyAnswer | undefined>
  close(): void
}

/** An answer to any question that proves a gateway. */
export const provingAnswer: ProxyAnswer = { body: '{"success":true,"data":[{"success":true,"data":{}}]}' }

/** Starts a gateway that accepts every key, and says nothing else. @returns its address */
export async function startProvingGateway(): Promise<string> {
  const gateway = await startProxy()
  gateway.answer = () => provingAnswer
  return gateway.url
}

/** Starts a proxy that is closed at the end of the test. @param port 0: a free one */
export async function startProxy(target = '', port = 0): Promise<ReverseProxy> {
  const proxy = await openProxy(target, port)
  onTestFinished(() => proxy.close())
  return proxy
}

/** Like startProxy; the caller closes it. */
export async function openProxy(target: string, port = 0): Promise<ReverseProxy> {
  const agent = new Agent({ keepAlive: true })
  const proxy: ReverseProxy = { url: '', target, requests: [], answer: () => undefined, close: () => {} }

  const server = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
    const received = await read(incoming)
    proxy.requests.push(received)
    const own = await proxy.answer(received)
    if (own) {
      const { status = 200, headers = { 'content-type': 'application/json' }, body } = own
      response.writeHead(status, headers).end(body)
      return
    }
    const onward = request(proxy.target + received.path, { method: incoming.method, headers: received.headers, agent })
    onward.on('response', answer => answer.pipe(response.writeHead(answer.statusCode!, answer.headers)))
    onward.on('error', () => incoming.socket.resetAndDestroy())
    onward.end(received.body)
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  proxy.close = () => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  }
  return proxy
}

async function read(incoming: IncomingMessage): Promise<ProxiedRequest> {
  const { url = '/', headers } = incoming
  return {
    path: url,
    headers,
    body: Buffer.concat(await incoming.toArray()).toString(),
    at: performance.now(),
  }
}
