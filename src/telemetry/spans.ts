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
import type { TraceContext } from './trace.ts'

/*
 * Spans through the OpenTelemetry API: without an SDK, which is the user's to start, they cost next to nothing. One an
 * envelope and one a callback; none a command. No attribute holds an id, a phone number or a text.
 */

const tracer = tracing.getTracer('busgate', version)

/** One request to the gateway, linked to the traces of its commands. */
export function envelopeSpan(account: string, operations: number, traces: readonly TraceContext[]) {
  const span = tracer.startSpan('POST gateway', {
    kind: SpanKind.CLIENT,
    root: true,
    links: traces.map(trace => ({ context: spanContextOf(trace) })),
    attributes: { 'http.request.method': 'POST', 'busgate.account': account, 'busgate.operations': operations },
  })
  return { end: (outcome: string) => end(span, outcome, outcome === 'answered') }
}

/** One callback on its way to the bus, in the trace of its message's command. */
export function callbackSpan(trace: TraceContext | null) {
  const parent = trace === null ? ROOT_CONTEXT : tracing.setSpanContext(ROOT_CONTEXT, spanContextOf(trace))
  const span = tracer.startSpan('POST /hooks', { kind: SpanKind.SERVER }, parent)
  return { end: (refusal: string | null) => end(span, refusal ?? 'kept', refusal === null) }
}

/** The span that is active where this is called, to be carried by a command; null outside of any trace. */
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
