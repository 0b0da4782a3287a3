import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'

/**
 * Starts a proxy in front of the gateway that forwards a share of the requests so late that their senders have timed
 * out. It forwards status polls at once.
 */
export async function startLateGateway(
  gateway: string,
  { share, ms }: { share: number; ms: number },
  random: () => number,
): Promise<{ url: string; close(): Promise<void> }> {
  const dispatcher = new Agent({ connections: 128 })
  const server = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
    const { url = '/', headers } = incoming
    const body = Buffer.concat(await incoming.toArray()).toString()
    if (!body.includes('"type":"status"') && random() < share) await pause(ms)
    const onward = {
      method: 'POST',
      headers: { 'content-type': headers['content-type'] ?? '' },
      body,
      dispatcher,
    } as const
    const answer = await request(gateway + url, onward).catch(() => null)
    response.writeHead(answer?.statusCode ?? 502, { 'content-type': 'application/json' }).end(await answer?.body.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await dispatcher.destroy()
    },
  }
}
