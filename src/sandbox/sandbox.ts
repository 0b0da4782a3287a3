import { createServer } from 'node:http'
import { unlessAborted, type WaitLimit } from '../abort.ts'
import { listen } from '../http/listen.ts'
import { Accounts } from './accounts.ts'
import { createCallbacks } from './callbacks.ts'
import { chance } from './chance.ts'
import { createTimers } from './clock.ts'
import { type Controls, handleControl } from './control.ts'
import { createEndpoint } from './endpoint.ts'
import { createFaultQueue } from './faults.ts'
import type { Gateway } from './gateway.ts'
import { type SandboxKeys, type SandboxOptions, settingsOf } from './settings.ts'
import { type LogEntry, statsOf } from './stats.ts'

const endpointPath = '/api/json.php'
const asyncPath = '/v1/json'
const logSize = 1000
/** Longer than any client keeps an idle connection, so that no request meets a close. */
const keepAliveMs = 600_000

/** A running sandbox. */
export interface Sandbox extends Controls, AsyncDisposable {
  /** The gateway's `{base_url}`. */
  url: string
  /** URL of the asynchronous interface. */
  asyncUrl: string
  /** Port of both URLs. */
  port: number
  /** Returns how often an account (default: `default`) executed the operation with this identifier. */
  executions(id: number | bigint, account?: string): number
  /** Replaces the accepted keys; accounts keep their counts, balances and templates. */
  setKeys(keys: SandboxKeys): void
  /** Replaces the address of statuses whose `hook` is not kept. */
  setAccountCallbackUrl(url: string | Readonly<Record<string, string>>): void
  /** Resolves when no callback is pending: each was answered 200, or given up after its last attempt. */
  drained(options?: WaitLimit): Promise<void>
  /** Closes every connection, and drops pending callbacks. */
  close(): Promise<void>
}

/**
 * Starts a gateway that behaves as specified, over real HTTP.
 * @throws Error when the port is not available
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsOf(options)
  const timers = createTimers(settings.clock)
  const callbacks = createCallbacks(settings, timers)
  const accounts = new Accounts(settings.keys, settings.balance)
  const faults = createFaultQueue()
  const entries: LogEntry[] = []
  const log = (entry: LogEntry) => {
    entries.push(entry)
    if (entries.length > logSize) entries.shift()
  }
  let msgId = 1e9 * (1 + Math.floor(chance('msg_id', 'first') * 1e6))
  let asyncRequests = 0
  const gateway: Gateway = {
    settings,
    callbacks,
    now: timers.now,
    nextMsgId: () => ++msgId,
    nextRequestId: () => requestId(++asyncRequests),
  }
  const endpoint = createEndpoint(gateway, accounts, timers, log, faults.take)
  const controls: Controls = {
    stats: () => statsOf(endpoint.requests(), callbacks.counts, accounts.list()),
    log: () => [...entries],
    faults,
  }

  const server = createServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '/'
    if (path === endpointPath) endpoint.handle(request, response)
    else if (path === asyncPath) endpoint.handleAsync(request, response)
    else handleControl(path, request, response, controls)
  })
  const mend = 'choose another port (busgate sandbox --port)'
  const port = await listen(server, { host: settings.host, port: settings.port, what: 'the sandbox', mend })

  async function close(): Promise<void> {
    timers.stop()
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await Promise.all([closed, callbacks.stop()])
  }

  const url = urlOf(settings.host, port)
  return {
    ...controls,
    url,
    asyncUrl: url + asyncPath,
    port,
    executions: (id, account = 'default') => accounts.byName(account)?.executions.executionsOf(asParsed(id)) ?? 0,
    setKeys: keys => accounts.setKeys(keys),
    setAccountCallbackUrl(url) {
      settings.accountCallbackUrl = url
    },
    drained: ({ signal } = {}) => unlessAborted(signal, callbacks.drained),
    close,
    [Symbol.asyncDispose]: close,
  }
}

const urlOf = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Looks random, and is unique by its counter. */
function requestId(number: number): string {
  return `${Math.floor(chance('request_id', number) * 2 ** 32).toString(16)}-${number}`
}

/** Identifiers up to 2^53 are numbers, as parsed from an envelope. */
function asParsed(id: number | bigint): number | bigint {
  return id <= Number.MAX_SAFE_INTEGER ? Number(id) : id
}
