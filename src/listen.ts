import type { Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'

export interface Listening {
  /** `::` is every address of the machine, also where it has no IPv6. */
  host: string
  /** 0: any free one. */
  port: number
  backlog?: number
  /** What is served there, such as `metrics`. */
  what: string
  /** Names what sets the address, to be changed when it cannot be had. */
  mend: string
}

/** Opens a server's port and answers which it is. @throws Error that says what to change when the address cannot be had */
export async function listen(server: Server, { what, mend, host, ...address }: Listening): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  const everywhere = host === '::' // without a host Node falls back to 0.0.0.0
  server.listen({ ...address, ...(!everywhere && { host }) } satisfies ListenOptions, resolve)
  try {
    await promise
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const message = `cannot serve ${what} on ${host}:${address.port} (${code}): ${mend}`
    throw Object.assign(new Error(message, { cause }), { code })
  }
  server.off('error', reject)
  return (server.address() as AddressInfo).port
}
