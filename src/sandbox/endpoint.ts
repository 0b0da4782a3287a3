import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Accounts } from './accounts.ts'
import { asyncReply, isRefusedItem, type Processed, syncReply, texts } from './answers.ts'
import { callBackRefusals } from './callback.ts'
import { chance, pickWithin } from './chance.ts'
import type { Timers } from './clock.ts'
import { executeEnvelope, readEnvelope } from './envelope.ts'
import { type FaultName, faults, type Incoming } from './faults.ts'
import type { Exchange, Gateway } from './gateway.ts'
import { sendAnswer, whenRead } from './http.ts'
import type { LogEntry } from './stats.ts'

/** Handles requests: reads and executes them, waits for the latency, and answers. */
export function createEndpoint(
  gateway: Gateway,
  accounts: Accounts,
  timers: Timers,
  log: (entry: LogEntry) => void,
  takeFault: () => FaultName | undefined,
) {
  let requests = 0

  function process(
    request: IncomingMessage,
    text: string,
    visit: EndpointVisit,
    entry: LogEntry,
    refusal?: string,
  ): Processed {
    if (request.method !== 'POST') return { error: texts.method }
    const envelope = readEnvelope(request.headers['content-type'], text, accounts, gateway)
    if (!('account' in envelope)) return envelope
    const { account, data } = envelope
    entry.account = account.name
    entry.operations = data.length
    const exchange: Exchange = { gateway, account, now: gateway.now(), ...visit }
    const processed = executeEnvelope(data, exchange, refusal)
    if (visit.requestId !== undefined && 'items' in processed) callBackRefusals(data, processed.items, exchange)
    return processed
  }

  function answer(request: IncomingMessage, response: ServerResponse, text: string, requestId?: string): void {
    requests++
    const fault = takeFault()
    const entry = entryOf(gateway.now(), fault)
    log(entry)
    const visit: EndpointVisit = { holds: [], ...(requestId !== undefined && { requestId }) }
    const incoming: Incoming = {
      process: refusal => noted(process(request, text, visit, entry, refusal), entry),
      reply: processed =>
        requestId === undefined
          ? syncReply(processed)
          : asyncReply(processed, requestId, gateway.settings.open.asyncStatus),
    }
    const ending = fault ? faults[fault].answer(incoming) : incoming.reply(incoming.process())

    const finish = () => sendAnswer(response, ending, timers)
    const latency = pickWithin(gateway.settings.latencyMs, chance('latency', requests))
    const afterLatency = latency > 0 ? () => timers.after(latency, finish) : finish
    if (visit.holds.length > 0) void Promise.all(visit.holds).then(afterLatency)
    else afterLatency()
  }

  return {
    /** `{base_url}/api/json.php`. */
    handle: (request: IncomingMessage, response: ServerResponse) =>
      whenRead(request, text => answer(request, response, text)),
    /** The asynchronous interface. */
    handleAsync: (request: IncomingMessage, response: ServerResponse) =>
      whenRead(request, text => answer(request, response, text, gateway.nextRequestId())),
    /** Number of requests to both addresses. */
    requests: () => requests,
  }
}

type EndpointVisit = Pick<Exchange, 'holds' | 'requestId'>

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
  if ('items' in processed) entry.refused = processed.items.reduce((n, item) => n + (isRefusedItem(item) ? 1 : 0), 0)
  else entry.error = processed.error
  return processed
}
