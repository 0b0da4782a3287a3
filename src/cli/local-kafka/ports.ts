import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Ports of 127.0.0.1 that are free now: the wanted ones, and any free one where 0 is wanted.
 * @throws Error that names a wanted port in use
 */
export async function freePorts(wanted: number[]): Promise<number[]> {
  const servers: Server[] = []
  try {
    // Held until all are known, so that no two are the same.
    for (const port of wanted) servers.push(await listen(port))
    return servers.map(server => (server.address() as { port: number }).port)
  } finally {
    for (const server of servers) server.close()
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
