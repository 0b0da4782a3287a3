import {
  context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace as tracing,
} from '@opentelemetry/api'
import { version } from '../package.ts'

/** The caller's span, as in W3C Trace Context (https://www.w3.org/TR/trace-context/). */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  traceId: string
  /** 16 lower-case hexadecimal digits. */
  spanId: string
  /** One byte; the lowest bit means that the trace is recorded. */
  flags: number
  /** Data of tracing systems, unchanged. */
  state: string | null
}

/** Headers with a trace. */
export interface TraceHeaders {
  traceparent: string
  tracestate?: string
}

const parent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** Limit for later versions of the header, which may be longer. */
const longestParent = 200
/** Length up to which the standard requires tracestate to be propagated. */
const longestState = 512
const stateText = /^[\x20-\x7e]+$/

/** Reads the trace of a record from its headers; null if there is none, or an invalid one. */
export function traceOf(headers: Readonly<Record<string, unknown>>): TraceContext | null {
  if (headers.traceparent === undefined) return null
  const [, version, traceId, spanId, flags, more] = parent.exec(textOf(headers.traceparent, longestParent) ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  if (version === '00' && more !== undefined) return null
  const state = textOf(headers.tracestate, longestState)
  return {
    traceId,
    spanId,
    flags: Number.parseInt(flags, 16),
    state: state !== null && stateText.test(state) ? state : null,
  }
}

/** Headers that propagate a trace to the records that follow from it. */
export function traceHeaders({ traceId, spanId, flags, state }: TraceContext): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
  return state === null ? { traceparent } : { traceparent, tracestate: state }
}

/** The id of the first recorded trace: only recorded ones can be inspected. */
export function recordedTraceId(traces: readonly (TraceContext | null)[]): string | null {
  return traces.find(trace => trace !== null && (trace.flags & 1) === 1)?.traceId ?? null
}

/** The text of a header; null if it is repeated or too long. */
function textOf(value: unknown, longest: number): string | null {
  if (typeof value !== 'string' && !Buffer.isBuffer(value)) return null
  return value.length > longest ? null : value.toString()
}

/**
 * Spans of the OpenTelemetry API: one per envelope and per callback, none per command. They cost next to nothing unless the
 * user starts an SDK. No attribute contains an id, a phone number or a message's text.
 */

const tracer = tracing.getTracer('busgate', version)

/** A request to the gateway, linked to the traces of its commands. */
export function envelopeSpan(account: string, operations: number, traces: readonly TraceContext[]) {
  const span = tracer.startSpan('POST gateway', {
    kind: SpanKind.CLIENT,
    root: true,
    links: traces.map(trace => ({ context: spanContextOf(trace) })),
    attributes: { 'http.request.method': 'POST', 'busgate.account': account, 'busgate.operations': operations },
  })
  return { end: (outcome: string) => end(span, outcome, outcome === 'answered') }
}

/** A callback, in the trace of its message's command. */
export function callbackSpan(trace: TraceContext | null) {
  const parent = trace === null ? ROOT_CONTEXT : tracing.setSpanContext(ROOT_CONTEXT, spanContextOf(trace))
  const span = tracer.startSpan('POST /hooks', { kind: SpanKind.SERVER }, parent)
  return { end: (refusal: string | null) => end(span, refusal ?? 'kept', refusal === null) }
}

/** The active span, to be carried by a command; null outside of any trace. */
export function activeTrace(): TraceContext | null {
  const active = tracing.getSpanContext(context.active())
  if (!active || !tracing.isSpanContextValid(active)) return null
  const { traceId, spanId, traceFlags: flags, traceState } = active
  return { traceId, spanId, flags, state: traceState?.serialize() || null }
}

function end(span: Span, outcome: string, good: boolean): void {
  span.setAttribute('busgate.outcome', outcome)
  if (!good) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

function spanContextOf({ traceId, spanId, flags, state }: TraceContext): SpanContext {
  const remote = { traceId, spanId, traceFlags: flags, isRemote: true }
  return state === null ? remote : { ...remote, traceState: createTraceState(state) }
}
