import type { Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'

export interface Listening {
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
export async function listen(server: Server, { what, mend, ...address }: Listening): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(address satisfies ListenOptions, resolve)
  try {
    await promise
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const message = `cannot serve ${what} on ${address.host}:${address.port} (${code}): ${mend}`
    throw Object.assign(new Error(message, { cause }), { code })
  }
  server.off('error', reject)
  return (server.address() as AddressInfo).port
}
