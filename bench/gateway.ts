import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'

export interface BenchGateway {
  url: string
  close(): Promise<void>
}

export interface BenchGatewayOptions {
  latencyMs: number
  /** Called with the ids of an envelope when it arrives, and when its answer is sent. */
  posted(ids: readonly number[]): void
  answered(ids: readonly number[]): void
}

interface Operation {
  type: string
  id: number
}

/** Starts a gateway that accepts everything at little cost, so as not to distort the figures. Ids must be below 2^53. */
export async function startBenchGateway({ latencyMs, posted, answered }: BenchGatewayOptions): Promise<BenchGateway> {
  const server = createServer((request, response) => {
    void bodyOf(request).then(async body => {
      const { data } = JSON.parse(body) as { data: Operation[] }
      const ids = data.flatMap(({ type, id }) => (type === 'balance' ? [] : [id]))
      posted(ids)
      await setTimeout(latencyMs)
      response.setHeader('content-type', 'application/json')
      answered(ids)
      response.end(`{"success":true,"data":[${data.map(answerTo).join()}]}`)
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** As the specification shows it: a send result also has a number `data`, and its `msg_id` is a number or text. */
function answerTo({ type, id }: Operation): string {
  if (type === 'balance') return '{"success":true,"data":{"amount":100,"currency":"UAH"}}'
  if (type === 'hlr') return `{"success":true,"data":{"id":${id},"phone":380670000000,"status":"OK","mccmnc":25501}}`
  const msgId = id % 2 === 0 ? `7${id}` : `"7${id}"`
  return `{"success":true,"data":{"id":${id},"msg_id":${msgId},"parts":1,"data":1}}`
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
