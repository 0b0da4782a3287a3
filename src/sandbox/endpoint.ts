import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Accounts } from './accounts.ts'
import { within } from './chance.ts'
import type { Timers } from './clock.ts'
import { executeEnvelope, readEnvelope } from './envelope.ts'
import { type FaultName, faults, type Processed, reply } from './faults.ts'
import type { Exchange, Gateway } from './gateway.ts'
import { readText, sendAnswer } from './http.ts'
import { isRefused } from './items.ts'
import type { Log, LogEntry } from './log.ts'
import { texts } from './texts.ts'

export interface Endpoint {
  handle(request: IncomingMessage, response: ServerResponse): void
  requests(): number
}

/** `{base_url}/api/json.php`: reads, executes, waits for the latency, answers. */
export function createEndpoint(
  gateway: Gateway,
  accounts: Accounts,
  timers: Timers,
  log: Log,
  takeFault: () => FaultName | undefined,
): Endpoint {
  let requests = 0

  function process(request: IncomingMessage, text: string, visit: Visit, refusal?: string): Processed {
    if (request.method !== 'POST') return { error: texts.method }
    const envelope = readEnvelope(request.headers['content-type'], text, accounts, gateway.settings)
    if ('error' in envelope) return envelope
    const { account, data } = envelope
    visit.entry.account = account.name
    visit.entry.operations = data.length
    const exchange: Exchange = { gateway, account, now: gateway.now(), holds: visit.holds }
    return executeEnvelope(data, exchange, refusal)
  }

  function answer(request: IncomingMessage, response: ServerResponse, text: string): void {
    requests++
    const fault = takeFault()
    const visit: Visit = { entry: entryOf(gateway.now(), fault), holds: [] }
    log.add(visit.entry)
    const processed = (refusal?: string) => noted(process(request, text, visit, refusal), visit.entry)
    const ending = fault ? faults[fault].answer(processed) : reply(processed())

    const finish = () => sendAnswer(response, ending, timers)
    const latency = within(gateway.settings.latencyMs, gateway.chance('latency', requests))
    const afterLatency = latency > 0 ? () => timers.after(latency, finish) : finish
    if (visit.holds.length > 0) void Promise.all(visit.holds).then(afterLatency)
    else afterLatency()
  }

  return {
    handle: (request, response) => readText(request, text => answer(request, response, text)),
    requests: () => requests,
  }
}

/** One request: what the log keeps of it, and what its answer waits for. */
interface Visit {
  entry: LogEntry
  holds: Promise<void>[]
}

function entryOf(now: number, fault: FaultName | undefined): LogEntry {
  return {
    at: new Date(now).toISOString(),
    account: null,
    operations: 0,
    refused: 0,
    error: null,
    fault: fault ?? null,
  }
}

function noted(processed: Processed, entry: LogEntry): Processed {
  if ('items' in processed) entry.refused = processed.items.reduce((n, item) => n + (isRefused(item) ? 1 : 0), 0)
  else entry.error = processed.error
  return processed
}
