import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OutgoingRecord } from '../bus/port.ts'
import { isOperationType } from '../protocol/registry.ts'
import { callbackStateOf } from '../protocol/states.ts'
import type { DeadLetterReason } from '../records/dead-letter.ts'
import type { StatusEvent } from '../records/generated.ts'
import type { WriteStatus } from '../records/status.ts'
import { type ErrorPlace, placeOf } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'
import { callbackSpan } from '../telemetry/spans.ts'
import { recordedTraceId, type TraceContext } from '../telemetry/trace.ts'
import { isEndless, parseCallback, readBody, unfitHeaders } from './body.ts'
import { statusEvent } from './event.ts'
import { type ReceiverLimits, requestBytes } from './limits.ts'
import { type CallbackOrigin, callbackOriginOf } from './origin.ts'
import { refusals, unpaced } from './refusals.ts'
import type { Visit } from './senders.ts'
import type { SharedPublish } from './shared-publish.ts'
import type { HookTokens } from './token.ts'

export interface IntakeOptions {
  tokens: Pick<HookTokens, 'open' | 'openAccount'>
  /** Makes the record of an event, with the trace of its command where that is known. */
  statusRecord: WriteStatus
  /** Makes the record of a callback to an account's address that belongs to no command of ours. */
  deadLetter: (body: Buffer, reason: DeadLetterReason) => OutgoingRecord
  telemetry: Telemetry
  now?: () => number
}

/**
 * Takes one request in and answers it.
 * @param visit null: its sender has as many requests as it may
 * @param closing asked with the answer: whether the connection ends with it
 */
export type Intake = (
  request: IncomingMessage,
  response: ServerResponse,
  visit: Visit | null,
  closing: () => boolean,
) => Promise<void>

type Reserve = (bytes: number) => boolean

/** Makes the handler of requests. 200 is answered only when `shared` has its record on the bus. */
export function createIntake(
  { tokens, statusRecord, deadLetter, telemetry, now = Date.now }: IntakeOptions,
  limits: ReceiverLimits,
  shared: SharedPublish<OutgoingRecord>,
): Intake {
  async function receive(
    request: IncomingMessage,
    response: ServerResponse,
    visit: Visit | null,
    reserve: Reserve,
  ): Promise<IntakeOutcome> {
    if (!reserve(requestBytes + headBytes(request))) return 'overloaded'
    await visit?.turn()
    if (request.method !== 'POST') return 'method'
    const origin = callbackOriginOf(request.url ?? '', tokens)
    if (typeof origin === 'string') return origin
    const unfit = unfitHeaders(request.headers, limits.bodyBytes)
    if (unfit !== null) return unfit
    if (request.headers.expect !== undefined) response.writeContinue()
    const bytes = await readBody(request, limits.bodyBytes, reserve)
    return typeof bytes === 'string' ? bytes : traced(origin, bytes)
  }

  async function traced(origin: CallbackOrigin, bytes: Buffer): Promise<IntakeOutcome> {
    const span = callbackSpan(traceFrom(origin))
    const outcome = await keep(origin, bytes).catch(failed)
    span.end(typeof outcome === 'object' && outcome !== null ? outcome.refusal : outcome)
    return outcome
  }

  /** Null when the callback is on the bus. */
  async function keep(origin: CallbackOrigin, bytes: Buffer): Promise<IntakeOutcome> {
    const body = parseCallback(bytes, limits.jsonDepth)
    if (typeof body === 'string') return body
    const made = statusEvent(origin, body, now())
    if (!made.ok && made.reason === 'other_id') return 'other_id'
    const record = made.ok ? statusRecord(made.event, traceFrom(origin)) : deadLetter(bytes, made.error)
    try {
      await shared.add(record, record.value?.length ?? 0)
    } catch (error) {
      return { refusal: 'not_published', error: placeOf(error as Error) }
    }
    if (made.ok) reportEvent(telemetry, made.event, origin)
    else telemetry.emit('deadLetter.published', { stage: 'callback', code: made.error.code, count: 1, first: null })
    return null
  }

  return async (request, response, visit, closing) => {
    let held = 0
    response.on('close', () => visit?.release(held))
    const reserve: Reserve = bytes => {
      if (!visit?.reserve(bytes)) return false
      held += bytes
      return true
    }
    const outcome = await receive(request, response, visit, reserve).catch(failed)
    if (outcome === null) {
      // What shared a publish is known to be on the bus at one time.
      await visit?.turn()
      answer(response, null, closing())
      return
    }
    const { refusal, error } = typeof outcome === 'string' ? { refusal: outcome, error: undefined } : outcome
    telemetry.emit('callback.refused', { reason: refusal, ...(error && { error }) })
    if (!unpaced.has(refusal)) await visit?.refused()
    answer(response, refusal, closing() || isEndless(request, limits.bodyBytes))
  }
}

/** Null when the callback is on the bus; an error says more about a refusal. */
type IntakeOutcome = CallbackRefusal | { refusal: CallbackRefusal; error: ErrorPlace } | null

const failed = (error: unknown): IntakeOutcome => ({ refusal: 'failed', error: placeOf(error as Error) })

/** The memory that the texts of the head take, two bytes a character at most. */
function headBytes({ url = '', rawHeaders }: IncomingMessage): number {
  return 2 * rawHeaders.reduce((sum, text) => sum + text.length, url.length)
}

/** A status, and for people a sentence that repeats nothing of what was sent. */
function answer(response: ServerResponse, refusal: CallbackRefusal | null, last: boolean): void {
  if (last) response.setHeader('Connection', 'close')
  if (refusal === null) {
    response.writeHead(200, { 'Content-Length': 0 }).end()
    return
  }
  const { status, text, headers } = refusals[refusal]
  const sentence = `${text}\n`
  response
    .writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': sentence.length, ...headers })
    .end(sentence)
}

function reportEvent(telemetry: Telemetry, event: StatusEvent, origin: CallbackOrigin): void {
  const type = isOperationType(event.type) ? event.type : 'other'
  const { contradicts } = callbackStateOf(event.status, event.success === true)
  telemetry.emit('callback.accepted', { type, state: event.state, verified: event.verified, contradicts })
  if (origin.kind === 'message' && event.state === 'DELIVERED') {
    // The clock of the process that made the address may be ahead.
    const seconds = Math.max(0, event.receivedAt - origin.subject.issuedAt) / 1000
    telemetry.emit('delivery.latency', { type, seconds, traceId: recordedTraceId([origin.subject.trace]) })
  }
}

const traceFrom = (origin: CallbackOrigin): TraceContext | null =>
  origin.kind === 'message' ? origin.subject.trace : null
