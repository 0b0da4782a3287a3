import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { activeTrace, callbackSpan, envelopeSpan } from '../../src/telemetry/trace.ts'
import { buildTrace } from '../support/traces.ts'
import { startTracing } from '../support/tracing.ts'

test('without an OpenTelemetry SDK there are no spans and no active trace', () => {
  envelopeSpan('default', 1, [buildTrace()]).end('answered')
  callbackSpan(buildTrace()).end(null)
  expect(activeTrace()).toBeNull()
})

describe('with an OpenTelemetry SDK,', () => {
  test('an envelope is a span that is linked to the traces of its commands', () => {
    const { spans } = startTracing()
    const { traceId, spanId } = buildTrace(2)
    envelopeSpan('shop', 100, [buildTrace(1), buildTrace(2, { state: 'vendor=1' })]).end('answered')
    const [span] = spans('POST gateway')
    expect(span).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        'http.request.method': 'POST',
        'busgate.account': 'shop',
        'busgate.operations': 100,
        'busgate.outcome': 'answered',
      },
      status: { code: SpanStatusCode.UNSET },
    })
    expect(span?.parentSpanContext).toBeUndefined()
    expect(span?.links).toHaveLength(2)
    expect(span?.links[1]?.context).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true })
    expect(span?.links[1]?.context.traceState?.serialize()).toBe('vendor=1')
  })

  test('an unanswered envelope is a span with an error', () => {
    const { spans } = startTracing()
    envelopeSpan('default', 1, []).end('unknown')
    expect(spans('POST gateway')).toMatchObject([{ status: { code: SpanStatusCode.ERROR }, links: [] }])
  })

  test('a callback is a span in the trace of its command, or in a new trace', () => {
    const { spans } = startTracing()
    const parent = buildTrace(1)
    callbackSpan(parent).end(null)
    callbackSpan(null).end('not_published')
    const [inTrace, alone] = spans('POST /hooks')
    expect(inTrace?.spanContext().traceId).toBe(parent.traceId)
    expect(inTrace).toMatchObject({
      kind: SpanKind.SERVER,
      parentSpanContext: { spanId: parent.spanId },
      attributes: { 'busgate.outcome': 'kept' },
    })
    expect(alone?.parentSpanContext).toBeUndefined()
    expect(alone).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'busgate.outcome': 'not_published' },
    })
  })
})
