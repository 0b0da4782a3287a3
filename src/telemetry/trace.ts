import {
  type Context,
  createTraceState,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace as tracing,
} from '@opentelemetry/api'
import { version } from '../package.ts'
import type { RecordPlace } from './stable-events.ts'

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
  return traces.find(trace => trace !== null && isRecorded(trace))?.traceId ?? null
}

/** The text of a header; null if it is repeated or too long. */
function textOf(value: unknown, longest: number): string | null {
  if (typeof value !== 'string' && !Buffer.isBuffer(value)) return null
  return value.length > longest ? null : value.toString()
}

/**
 * Spans of the OpenTelemetry API, none per command that is not traced. They cost next to nothing unless the user starts an SDK.
 * No attribute contains an id, a phone number or a message's text. Messaging attributes follow
 * https://opentelemetry.io/docs/specs/semconv/messaging/kafka/.
 */

const tracer = tracing.getTracer('busgate', version)

/** Whether somebody has started an SDK. */
function isTracing(): boolean {
  const provider = tracing.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('busgate', version) !== undefined
}

/** The writing of records, under the active span. `trace` is what they carry; null without an SDK. */
export function sendSpan(topics: readonly string[]) {
  const [topic, ...others] = new Set(topics)
  const span = tracer.startSpan(topic !== undefined && others.length === 0 ? `send ${topic}` : 'send', {
    kind: SpanKind.PRODUCER,
    attributes: {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      ...(topic !== undefined && others.length === 0 && { 'messaging.destination.name': topic }),
      ...(topics.length > 1 && { 'messaging.batch.message_count': topics.length }),
    },
  })
  return { trace: contextOf(span), end: (error: unknown) => endWith(span, error) }
}

/** The processing of one record that was read, in the trace that it carries. */
export function processSpan({ topic, partition, offset }: RecordPlace, trace: TraceContext | null) {
  if (!isTracing()) return { end() {} }
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': topic,
    'messaging.destination.partition.id': String(partition),
    'messaging.kafka.offset': offset,
  }
  const span = tracer.startSpan(`process ${topic}`, { kind: SpanKind.CONSUMER, attributes }, under(trace))
  return { end: () => span.end() }
}

/**
 * A request to the gateway: a span under each recorded trace of its commands, so that each shows its answer. Without such, it
 * has a trace of its own, linked to those of its commands.
 */
export function envelopeSpan(account: string, operations: number, traces: readonly TraceContext[]) {
  const attributes = {
    'http.request.method': 'POST',
    'busgate.account': account,
    'busgate.operations': operations,
  }
  const start = (options: SpanOptions, parent?: Context) =>
    tracer.startSpan('POST gateway', { kind: SpanKind.CLIENT, attributes, ...options }, parent)
  const recorded = isTracing() ? traces.filter(isRecorded) : []
  const spans =
    recorded.length > 0
      ? recorded.map(trace => start({}, under(trace)))
      : [start({ root: true, links: traces.map(trace => ({ context: spanContextOf(trace) })) })]
  return {
    end(outcome: string) {
      for (const span of spans) end(span, outcome, outcome === 'answered')
    },
  }
}

/** A callback, in the trace of its message's command. */
export function callbackSpan(trace: TraceContext | null) {
  const span = tracer.startSpan('POST /hooks', { kind: SpanKind.SERVER }, under(trace))
  return { end: (refusal: string | null) => end(span, refusal ?? 'kept', refusal === null) }
}

function contextOf(span: Span): TraceContext | null {
  const context = span.spanContext()
  if (!tracing.isSpanContextValid(context)) return null
  const { traceId, spanId, traceFlags: flags, traceState } = context
  return { traceId, spanId, flags, state: traceState?.serialize() || null }
}

const isRecorded = ({ flags }: TraceContext): boolean => (flags & 1) === 1

const under = (trace: TraceContext | null): Context =>
  trace === null ? ROOT_CONTEXT : tracing.setSpanContext(ROOT_CONTEXT, spanContextOf(trace))

function endWith(span: Span, error: unknown): void {
  if (error !== undefined) {
    span.setAttribute('error.type', nameOf(error))
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}

/** The code or name of an error; its message may contain anything. */
function nameOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : '_OTHER'
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
