import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import type { OutgoingRecord } from '../bus/port.ts'
import { createIntake, type IntakeOptions } from './intake.ts'
import { type ReceiverLimits, receiverLimits } from './limits.ts'
import { sharePublish } from './shared-publish.ts'

export interface ReceiverOptions extends IntakeOptions {
  /** 0 takes any free port. */
  port: number
  host: string
  /** Resolves when all in-sync replicas hold the records. */
  publish: (records: OutgoingRecord[]) => Promise<void>
  limits?: Partial<ReceiverLimits>
}

export interface Receiver {
  port: number
  /** Stops accepting, answers what is in flight, and resolves when the last connection is closed. */
  close(): Promise<void>
}

/**
 * Serves `POST /hooks/TOKEN` and `POST /hooks/account/ACCOUNT/TOKEN`. 200 is answered only when the event is on the bus.
 * @throws Error when the port cannot be had.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const limits = { ...receiverLimits, ...options.limits }
  const shared = sharePublish(options.publish, { timeoutMs: limits.publishMs, everyMs: limits.publishEveryMs })
  const take = createIntake(options, limits, shared)
  let draining = false

  const begin = (request: IncomingMessage, response: ServerResponse) => {
    void take(request, response, () => draining)
  }
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.ceil(limits.headersMs / 10),
  })
  server.on('request', begin)
  server.on('checkContinue', begin)
  server.maxConnections = limits.connections
  server.on('drop', () => {
    options.telemetry.emit('callback.refused', { reason: 'overloaded' })
    server.closeIdleConnections() // so that the next one gets in
  })
  // Whoever reads none of the answers must not keep a connection for ever.
  server.timeout = limits.requestMs + 2 * limits.publishMs
  // Many connect at once when senders come back after an outage.
  await listen(server, { port: options.port, host: options.host, backlog: limits.connections })

  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      draining = true
      await drain(server, limits.drainMs)
      await shared.idle()
    },
  }
}

function listen(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** `server.close` itself closes the connections that carry no request. */
async function drain(server: Server, drainMs: number): Promise<void> {
  const hurry = setTimeout(() => server.closeAllConnections(), drainMs)
  await new Promise<unknown>(resolve => server.close(resolve))
  clearTimeout(hurry)
}
