import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'

export interface FrontOptions {
  /** Where requests may go now; they go to each in turn. */
  targets: () => readonly string[]
  /** Hears of each request that was answered, or at last 502 for want of an answer. */
  passed?: (body: string, status: number) => void
  /** Keeps a request back. */
  held?: (body: string) => Promise<void>
}

/** A reverse proxy on a free port that spreads requests over what is behind it, and repeats none. */
export async function startFront({
  targets,
  passed,
  held,
}: FrontOptions): Promise<{ url: string; close(): Promise<void> }> {
  const agent = new Agent({ connections: 128 })
  let turn = 0

  async function onward(incoming: IncomingMessage, body: string): Promise<{ status: number; text: string }> {
    const all = targets()
    const target = all[turn++ % all.length]
    if (target === undefined) return { status: 502, text: '' }
    try {
      const { method = 'POST', url = '/', headers } = incoming
      const { statusCode, body: answer } = await request(target + url, {
        method,
        headers: { 'content-type': headers['content-type'] ?? '' },
        body,
        dispatcher: agent,
      })
      return { status: statusCode, text: await answer.text() }
    } catch {
      return { status: 502, text: '' }
    }
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray()).toString()
    await held?.(body)
    const { status, text } = await onward(incoming, body)
    passed?.(body, status)
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await agent.destroy()
    },
  }
}
