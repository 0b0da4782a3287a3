import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Ids of schemas that the registry has for attacks alone. */
export const hostileSchema = { bomb: 1001, wide: 1002, deep: 1003, listOfWide: 1004, endless: 1005, references: 1006 }

/** A command with an id from here on is answered in chunks of one byte. */
export const dribbledFrom = 4_000_000_000

const many = <T>(count: number, one: (n: number) => T) => Array.from({ length: count }, (_, n) => one(n))
const record = (name: string, fields: object[]) => ({ type: 'record', name, fields })
const fields = (count: number, type: string) => many(count, n => ({ name: `f${n}`, type }))

/** A chain of records, each of which uses the one before it twice: 2^levels values. */
function chain(levels: number): object {
  let inner: unknown = 'null'
  for (let level = 0; level < levels; level++) {
    const before = level === 0 ? 'null' : `R${level - 1}`
    const halves = [
      { name: 'a', type: inner },
      { name: 'b', type: before },
    ]
    inner = record(`R${level}`, halves)
  }
  return record('SendCommand', [{ name: 'chain', type: inner }])
}

const deep = (levels: number) =>
  `{"type":"record","name":"SendCommand","fields":[{"name":"deep","type":${'{"type":"array","items":'.repeat(levels)}"null"${'}'.repeat(levels)}}]}`

const listOfWide = { type: 'array', items: record('Wide', fields(5_000, 'null')) }

function startRegistry(): Server {
  const schemas = new Map<number, string>([
    [hostileSchema.bomb, JSON.stringify(chain(40))],
    [hostileSchema.wide, JSON.stringify(record('SendCommand', fields(20_000, 'int')))],
    [hostileSchema.deep, deep(200_000)],
    [hostileSchema.listOfWide, JSON.stringify(record('SendCommand', [{ name: 'items', type: listOfWide }]))],
  ])
  const register = async (request: IncomingMessage) => {
    const { schema } = JSON.parse(await bodyOf(request)) as { schema: string }
    const known = [...schemas].find(([, text]) => text === schema)?.[0]
    const id = known ?? schemas.size
    schemas.set(id, schema)
    return { id }
  }
  return createServer(async (request, response) => {
    const { method, url = '' } = request
    const id = Number(url.match(/^\/schemas\/ids\/(\d+)$/)?.[1])
    const schema = schemas.get(id)
    if (method === 'POST') json(response, 200, await register(request))
    else if (id === hostileSchema.endless) pour(response.writeHead(200), Buffer.alloc(65_536, '['))
    else if (id === hostileSchema.references || url.startsWith('/subjects/hostile-'))
      json(response, 200, referring(url))
    else if (schema !== undefined) json(response, 200, { schema })
    else json(response, 404, { error_code: 40403, message: 'Schema not found' })
  })
}

/** A schema that refers to the next version of two subjects. */
function referring(url: string): object {
  const version = (Number(url.match(/versions\/(\d+)$/)?.[1]) || 0) + 1
  const references = many(2, n => ({ name: `R${version}x${n}`, subject: `hostile-${n}`, version }))
  return { schema: JSON.stringify(record(`R${version}`, [])), references }
}

function startGateway(): Server {
  const text = 4_000_000
  return createServer(async (request, response) => {
    const { data } = JSON.parse(await bodyOf(request)) as { data: { id: number }[] }
    if (data.every(({ id }) => id < dribbledFrom)) {
      json(response, 200, {
        success: true,
        data: data.map(({ id }) => ({ success: true, data: { id, msg_id: `7${id}`, parts: 1 } })),
      })
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    response.socket!.write('1\r\n \r\n'.repeat(text))
  })
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function pour(response: ServerResponse, piece: Buffer): void {
  const more = () => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more)
  more()
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await request.toArray()).toString()
}

async function urlOf(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A process of its own with a gateway and a registry, which are hostile where they are asked for it. */
export interface Strangers {
  gatewayUrl: string
  registryUrl: string
}

if (process.send) {
  const [gatewayUrl, registryUrl] = await Promise.all([startGateway(), startRegistry()].map(urlOf))
  process.send({ gatewayUrl, registryUrl })
  process.on('disconnect', () => process.exit())
}
