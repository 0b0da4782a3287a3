import type { IncomingMessage, ServerResponse } from 'node:http'
import { type FaultQueue, faults, isFaultName } from './faults.ts'
import { sendJson, whenRead } from './http.ts'
import type { LogEntry, SandboxStats } from './stats.ts'

/** The sandbox's own interface besides the gateway's. */
export interface Controls {
  /** Counts since the start. */
  stats(): SandboxStats
  /** The last 1000 requests, oldest first. */
  log(): LogEntry[]
  /** Injects faults into the next requests. */
  faults: FaultQueue
}

type Result = [status: number, body: unknown]
type Route = (controls: Controls, text: string) => Result

const routes: Readonly<Record<string, Route>> = {
  'GET /_stats': ({ stats }) => [200, stats()],
  'GET /_log': ({ log }) => [200, log()],
  'POST /_faults': ({ faults }, text) => addFault(faults, text),
  'DELETE /_faults': ({ faults }) => {
    faults.clear()
    return [200, { cleared: true }]
  },
}

/** Handles all requests outside of the gateway's endpoints. */
export function handleControl(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  controls: Controls,
): void {
  const name = `${request.method} ${path}`
  const route: Route =
    routes[name] ?? (() => [404, { error: `nothing at ${name}: the gateway is at POST /api/json.php and /v1/json` }])
  whenRead(request, text => sendJson(response, ...route(controls, text)))
}

function addFault(queue: FaultQueue, text: string): Result {
  const { fault, count = 1 } = bodyOf(text)
  if (!isFaultName(fault)) return badRequest(`fault: one of ${Object.keys(faults).join(', ')}`)
  if (!Number.isSafeInteger(count) || Number(count) < 1) return badRequest('count: a whole number from 1')
  queue.next(fault, Number(count))
  return [200, { fault, count }]
}

function bodyOf(text: string): { fault?: unknown; count?: unknown } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

function badRequest(problem: string): Result {
  return [400, { error: `{"fault": NAME, "count": N} is expected; ${problem}` }]
}
