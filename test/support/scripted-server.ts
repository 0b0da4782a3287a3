import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Listens on 127.0.0.1 until the end of the test. @returns the port */
export async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** What the server does when it has read a request. */
export type Step = (socket: Socket, request: ReceivedRequest) => void

export interface ReceivedRequest {
  /** Request line and headers. */
  head: string
  body: string
}

/** A raw TCP server that records requests and answers by a script: one step a request; the last step repeats. */
export async function scriptedServer(...script: Step[]) {
  const seen = { bytes: 0, connections: 0, open: 0, mostOpen: 0, requests: [] as ReceivedRequest[] }
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    seen.connections++
    seen.mostOpen = Math.max(seen.mostOpen, ++seen.open)
    let text = ''
    socket.on('data', chunk => {
      seen.bytes += chunk.length
      text += chunk
      for (let request = wholeRequest(text); request; request = wholeRequest(text)) {
        text = text.slice(request.head.length + request.body.length)
        const step = script[Math.min(seen.requests.length, script.length - 1)]
        seen.requests.push(request)
        step?.(socket, request)
      }
    })
    socket.on('error', () => {}) // the client may reset the connection
    socket.on('close', () => {
      seen.open--
      sockets.delete(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    if (server.listening) await once(server, 'close')
  }
  onTestFinished(close)
  const { port } = server.address() as AddressInfo
  return { seen, sockets, port, close, url: `http://127.0.0.1:${port}` }
}

function wholeRequest(text: string): ReceivedRequest | null {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end < 4) return null
  const head = text.slice(0, end)
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  return text.length < end + length ? null : { head, body: text.slice(end, end + length) }
}

/** A complete HTTP response. */
export function httpAnswer(body: string, { status = 200, headers = {} as Record<string, string> } = {}): string {
  const fields = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Whatever\r\n${lines.join('')}\r\n${body}`
}

export const answerWith =
  (body: string, options: Parameters<typeof httpAnswer>[1] = {}): Step =>
  socket =>
    socket.write(httpAnswer(body, options))
