import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Free ports are looked for below those that systems give to outgoing connections (Linux has them from 32,768 on): one of
 * these could take a port before the process that it is meant for has started.
 */
const lowest = 20_000
const places = 6_000
const mostTries = 100

/** Ports of 127.0.0.1 that are free now, which no other call gets while this process lives, in whichever process. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = []
  try {
    // Held until all are known, so that no two are the same.
    while (servers.length < count) servers.push(await listenAnywhere())
    return servers.map(server => (server.address() as { port: number }).port)
  } finally {
    for (const server of servers) server.close()
  }
}

async function listenAnywhere(): Promise<Server> {
  for (let tries = 1; ; tries++) {
    try {
      return await take(randomInt(lowest, lowest + places))
    } catch (error) {
      if (tries === mostTries) throw error
    }
  }
}

/** A port is told to be taken by whoever listens at its twin, since nobody may listen at the port itself for seconds. */
async function take(port: number): Promise<Server> {
  const twin = await listen(port + places)
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
