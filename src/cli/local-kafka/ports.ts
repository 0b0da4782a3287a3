import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Free ports are looked for below those that systems give to outgoing connections (Linux has them from 32,768 on): one of
 * these could take a port before the process that it is meant for has started.
 */
const lowest = 20_000
const highest = 32_000
const mostTries = 100

/**
 * Ports of 127.0.0.1 that are free now: the wanted ones, and any free one where 0 is wanted.
 * @throws Error that names a wanted port in use
 */
export async function freePorts(wanted: number[]): Promise<number[]> {
  const servers: Server[] = []
  try {
    // Held until all are known, so that no two are the same.
    for (const port of wanted) servers.push(await (port === 0 ? listenAnywhere() : listen(port)))
    return servers.map(server => (server.address() as { port: number }).port)
  } finally {
    for (const server of servers) server.close()
  }
}

async function listenAnywhere(): Promise<Server> {
  for (let tries = 1; ; tries++) {
    try {
      return await listen(randomInt(lowest, highest))
    } catch (error) {
      if (tries === mostTries) throw error
    }
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return server
  } catch (cause) {
    throw new Error(`Port ${port} is in use: end what listens there or choose another.`, { cause })
  }
}
