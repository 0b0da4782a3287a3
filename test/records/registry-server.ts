import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface StoredSchema {
  schema: string
  schemaType?: string
  references?: { name: string; subject: string; version: number }[]
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** Starts a schema registry with the part of Confluent's interface that a worker uses, and faults on demand. */
export async function startRegistry() {
  const byId = new Map<number, StoredSchema>()
  const bySubject = new Map<string, StoredSchema>()
  const levels = new Map<string, string>()
  const requests: string[] = []
  let fault: Handler | undefined
  let port = 0

  const answer = (response: ServerResponse, status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' }).end(JSON.stringify(body))
  }

  async function register(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { schema } = JSON.parse((await request.toArray()).join('')) as StoredSchema
    const known = [...byId].find(([, stored]) => stored.schema === schema)?.[0]
    const id = known ?? byId.size + 1
    byId.set(id, { schema })
    answer(response, 200, { id })
  }

  const serve: Handler = async (request, response) => {
    const { method, url = '' } = request
    requests.push(`${method} ${url}`)
    if (fault) return fault(request, response)
    if (method === 'POST' && /^\/subjects\/[^/]+\/versions$/.test(url)) return register(request, response)
    const level = levels.get(url.match(/^\/config\/(.+)$/)?.[1] ?? '')
    if (level) return answer(response, 200, { compatibilityLevel: level })
    const found = byId.get(Number(url.match(/^\/schemas\/ids\/(\d+)$/)?.[1])) ?? bySubject.get(url)
    if (found) return answer(response, 200, found)
    return answer(response, 404, { error_code: 40403, message: 'Schema not found' })
  }

  let server = createServer()
  async function start(): Promise<void> {
    server = createServer((request, response) => void serve(request, response))
    await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  async function stop(): Promise<void> {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }

  await start()
  return {
    url: `http://127.0.0.1:${port}`,
    /** The method and path of every request. */
    requests,
    put: (id: number, stored: StoredSchema) => byId.set(id, stored),
    putVersion: (subject: string, version: number, stored: StoredSchema) =>
      bySubject.set(`/subjects/${subject}/versions/${version}`, stored),
    /** Sets the compatibility level of a subject. */
    setLevel: (subject: string, level: string) => levels.set(subject, level),
    /** Answers all requests by this handler, or as usual again without one. */
    fail: (handler?: Handler) => {
      fault = handler
    },
    start,
    stop,
  }
}
