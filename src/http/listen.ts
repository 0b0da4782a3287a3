import type { Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'

export interface Listening {
  /** `::` means all addresses, even on a machine without IPv6. */
  host: string
  /** 0 takes any free port. */
  port: number
  /** Connections that wait to be accepted. Default: as Node decides. */
  backlog?: number
  /** The service, for the error message, such as `metrics`. */
  what: string
  /** Remedy, for the error message. */
  mend: string
}

/** Starts listening. @returns the port @throws Error with the remedy if the address is not available */
export async function listen(server: Server, { what, mend, host, port, backlog }: Listening): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  const everywhere = host === '::' // without a host, Node falls back to 0.0.0.0
  const address = { port, ...(backlog !== undefined && { backlog }), ...(!everywhere && { host }) }
  server.listen(address satisfies ListenOptions, resolve)
  try {
    await promise
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const message = `cannot serve ${what} on ${host}:${port} (${code}): ${mend}`
    throw Object.assign(new Error(message, { cause }), { code })
  }
  server.off('error', reject)
  return (server.address() as AddressInfo).port
}

/** Closes the port; resolves when requests in flight are answered, or are cut off after `ms`. */
export async function drain(server: Server, ms: number): Promise<void> {
  const hurry = setTimeout(() => server.closeAllConnections(), ms)
  await new Promise<unknown>(resolve => server.close(resolve)) // also closes idle connections
  clearTimeout(hurry)
}
