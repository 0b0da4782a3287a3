import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Free ports come from below the ephemeral range (from 32,768 on Linux): an outgoing connection could reserve an ephemeral port
 * before the process that needs it has started.
 */
const lowest = 20_000
const portCount = 6_000
const maxTries = 100

/** Reserves free ports on 127.0.0.1. No other call, in any process, gets them while this process lives. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = []
  try {
    // All stay open until the last is found, so that no two are the same.
    while (servers.length < count) servers.push(await listenOnRandomPort())
    return servers.map(server => (server.address() as { port: number }).port)
  } finally {
    for (const server of servers) server.close()
  }
}

async function listenOnRandomPort(): Promise<Server> {
  for (let tries = 1; ; tries++) {
    try {
      return await reserve(randomInt(lowest, lowest + portCount))
    } catch (error) {
      if (tries === maxTries) throw error
    }
  }
}

/** Reserves a port by listening on its twin for the life of this process: the port itself must be free for its user. */
async function reserve(port: number): Promise<Server> {
  const twin = await listen(port + portCount)
  twin.unref()
  try {
    return await listen(port)
  } catch (error) {
    twin.close()
    throw error
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer(socket => socket.destroy()).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}
