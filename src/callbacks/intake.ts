import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OutgoingRecord } from '../bus/port.ts'
import { isOperationType } from '../protocol/registry.ts'
import { callbackStateOf } from '../protocol/states.ts'
import type { DeadLetterReason } from '../records/dead-letter.ts'
import type { NewStatusEvent, WriteStatus } from '../records/status.ts'
import { reportFault } from '../telemetry/contain.ts'
import { type ErrorPlace, placeOf } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'
import { callbackSpan, type TraceContext } from '../telemetry/trace.ts'
import { discardBody, parseCallback, readBody } from './body.ts'
import { statusEvent } from './event.ts'
import { type CallbackOrigin, callbackOriginOf } from './hook-url.ts'
import { refusals } from './refusals.ts'
import type { SharedPublish } from './shared-publish.ts'
import { probeId } from './subject.ts'
import type { HookTokens } from './token.ts'

/** The rest of a longer body is not read; its sender may therefore miss the answer. */
const discardedBytes = 1024 * 1024

export interface CallbackIntakeOptions {
  tokens: Pick<HookTokens, 'open' | 'openAccount'>
  /** Creates the record of an event, with the trace of its command if known. */
  statusRecord: WriteStatus
  /** Creates the dead letter for a callback to an account's address without a command of ours. */
  deadLetter: (body: Buffer, reason: DeadLetterReason) => OutgoingRecord
  telemetry: Telemetry
  /** The API key of an account, which no status event may contain; empty if this process does not know it. */
  keyOf: (account: string) => string
  now?: () => number
}

/**
 * Receives one request and answers it.
 * @param closing whether to close the connection with the answer; called when answering
 */
export type Intake = (request: IncomingMessage, response: ServerResponse, closing: () => boolean) => Promise<void>

/** Creates the request handler. It answers 200 only after `shared` has published the record. */
export function createCallbackIntake(
  { tokens, statusRecord, deadLetter, telemetry, keyOf, now = Date.now }: CallbackIntakeOptions,
  limits: ReceiverLimits,
  shared: SharedPublish<OutgoingRecord>,
): Intake {
  const reserveFor = bodyMemory(limits)

  async function receive(
    origin: CallbackOrigin,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<IntakeOutcome> {
    // ignores Content-Type, because senders label JSON in many ways
    if (Number(request.headers['content-length']) > limits.bodyBytes) return 'too_large'
    if (request.headers.expect !== undefined) response.writeContinue()
    const bytes = await readBody(request, limits.bodyBytes, reserveFor(request, response))
    return typeof bytes === 'string' ? bytes : traced(origin, bytes)
  }

  async function traced(origin: CallbackOrigin, bytes: Buffer): Promise<IntakeOutcome> {
    const span = callbackSpan(traceFrom(origin))
    const outcome = await keep(origin, bytes).catch(error => faultOf(error, telemetry))
    span.end(typeof outcome === 'object' && outcome !== null ? outcome.refusal : outcome)
    return outcome
  }

  /** @returns null when the callback is published */
  async function keep(origin: CallbackOrigin, bytes: Buffer): Promise<IntakeOutcome> {
    const body = parseCallback(bytes)
    if (typeof body === 'string') return body
    const reading = statusEvent(origin, body, { receivedAt: now(), keyOf })
    if (!reading.ok && reading.reason === 'other_id') return 'other_id'
    const record = reading.ok ? statusRecord(reading.event, traceFrom(origin)) : deadLetter(bytes, reading.error)
    try {
      await shared.add(record)
    } catch (error) {
      return { refusal: 'not_published', error: placeOf(error as Error) }
    }
    if (reading.ok) reportEvent(telemetry, reading.event, origin)
    else telemetry.emit('deadLetter.published', { stage: 'callback', code: reading.error.code, count: 1, first: null })
    return null
  }

  async function handle(...[request, response, closing]: Parameters<Intake>): Promise<void> {
    const origin = request.method === 'POST' ? callbackOriginOf(request.url ?? '', tokens) : 'method'
    const outcome = typeof origin === 'object' ? await receive(origin, request, response) : origin
    if (outcome === null) {
      if (closing()) response.setHeader('Connection', 'close')
      response.writeHead(200, { 'Content-Length': 0 }).end()
      return
    }
    const { refusal, ...because } = typeof outcome === 'string' ? { refusal: outcome } : outcome
    if (!isProbe(origin)) telemetry.emit('callback.refused', { reason: refusal, ...because })
    await refuse(request, response, refusal)
  }

  return contained(handle, telemetry)
}

/** The boundary around one callback: an error of ours is answered 503. */
function contained(handle: Intake, telemetry: Telemetry): Intake {
  return (request, response, closing) =>
    handle(request, response, closing).catch(error => {
      const { refusal: reason, ...because } = faultOf(error, telemetry)
      telemetry.emit('callback.refused', { reason, ...because })
      return refuse(request, response, reason).catch(() => void response.destroy())
    })
}

function faultOf(error: unknown, telemetry: Telemetry) {
  reportFault(telemetry, 'callback', null, error)
  return { refusal: 'failed', error: placeOf(error as Error) } as const
}

/** Whether `busgate doctor` sent it. Such an address can be made only with the secret. */
const isProbe = (origin: CallbackOrigin | CallbackRefusal): boolean =>
  typeof origin === 'object' && origin.kind === 'message' && origin.subject.id === probeId

/**
 * Counts the bytes of bodies that are not answered yet.
 * @returns a function that reserves memory until the response is done: if there is no room, it aborts the oldest incomplete
 *   requests, and returns false if there is still none
 */
function bodyMemory({ inFlightBytes }: Pick<ReceiverLimits, 'inFlightBytes'>) {
  let inFlight = 0
  /** Requests with incomplete bodies, oldest first, each with a function that aborts it. */
  const unfinished = new Map<IncomingMessage, () => void>()

  return (request: IncomingMessage, response: ServerResponse) => {
    let held = 0
    const release = () => {
      inFlight -= held
      held = 0
      unfinished.delete(request)
    }
    const giveUp = () => {
      request.destroy()
      release()
    }
    request.on('end', () => unfinished.delete(request))
    response.on('close', release)
    return (bytes: number): boolean => {
      for (const [other, giveUpOther] of unfinished) {
        if (inFlight + bytes <= inFlightBytes) break
        if (other !== request) giveUpOther()
      }
      if (inFlight + bytes > inFlightBytes) return false
      inFlight += bytes
      held += bytes
      unfinished.set(request, giveUp)
      return true
    }
  }
}

/** Null when the callback is published; `error` explains a refusal. */
type IntakeOutcome = CallbackRefusal | { refusal: CallbackRefusal; error: ErrorPlace } | null

/**
 * Answers with the status, and a sentence that repeats nothing of the request. Only connections that brought a callback are
 * kept. A stranger thus needs a new connection per attempt, and a sender that will retry later occupies none meanwhile.
 */
async function refuse(request: IncomingMessage, response: ServerResponse, refusal: CallbackRefusal): Promise<void> {
  const { status, text, headers } = refusals[refusal]
  const sentence = `${text}\n`
  const headersOfAll = { Connection: 'close', 'Content-Type': 'text/plain', 'Content-Length': sentence.length }
  response.writeHead(status, { ...headersOfAll, ...headers }).write(sentence)
  if (request.headers.expect === undefined) await discardBody(request, discardedBytes)
  response.end()
}

function reportEvent(telemetry: Telemetry, event: NewStatusEvent, origin: CallbackOrigin): void {
  const type = isOperationType(event.type) ? event.type : 'other'
  const { contradicts } = callbackStateOf(event.status, event.success === true)
  const { commandType, country, state, verified } = event
  telemetry.emit('callback.accepted', { type, commandType, country, state, verified, contradicts })
  if (origin.kind === 'message' && state === 'DELIVERED') {
    // the clock of the process that created the address may be ahead
    const seconds = Math.max(0, event.receivedAt - origin.subject.issuedAt) / 1000
    telemetry.emit('delivery.latency', { type: origin.subject.type, country, seconds })
  }
}

const traceFrom = (origin: CallbackOrigin): TraceContext | null =>
  origin.kind === 'message' ? origin.subject.trace : null

/** A callback may wait for the publish in flight and then for its own: at most 10 s, the usual time-out of senders. */
export const limits = {
  /** Most connections. Beyond it, the connection that has not finished a request for longest is closed. */
  connections: 2048,
  /** Longest body. */
  bodyBytes: 64 * 1024,
  /** Memory for bodies of unanswered callbacks. Beyond it, the oldest unfinished ones are dropped, further ones answered 503. */
  inFlightBytes: 16 * 1024 * 1024,
  /** Time-outs for a request's headers, and for the whole request. */
  headersMs: 5_000,
  requestMs: 10_000,
  /** Time-out of a publish, after which its callbacks are answered 503. */
  publishMs: 5_000,
  /** Least time between the starts of two publishes. */
  publishEveryMs: 5,
  /** Longest time that `close` waits for requests in flight. */
  drainMs: 10_000,
}

export type ReceiverLimits = typeof limits
