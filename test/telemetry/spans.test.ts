import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { callbackSpan, envelopeSpan, processSpan, sendSpan } from '../../src/telemetry/trace.ts'
import { post, receiverBench } from '../support/callbacks.ts'
import { buildTrace } from '../support/traces.ts'
import { startTracing } from '../support/tracing.ts'

const place = { topic: 'busgate.results', partition: 3, offset: 41 }

test('without an OpenTelemetry SDK there are no spans, and commands carry no trace', () => {
  envelopeSpan('default', 1, [buildTrace()]).end('answered')
  callbackSpan(buildTrace()).end(null)
  processSpan(place, buildTrace()).end()
  const sending = sendSpan(['busgate.commands'])
  sending.end(undefined)
  expect(sending.trace).toBeNull()
})

describe('with an OpenTelemetry SDK,', () => {
  test('an envelope of commands whose traces are not recorded is a trace of its own, linked to them', () => {
    const { spans } = startTracing()
    const { traceId, spanId } = buildTrace(2)
    const flags = 0
    envelopeSpan('shop', 100, [buildTrace(1, { flags }), buildTrace(2, { flags, state: 'vendor=1' })]).end('answered')
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
    expect(span?.links[1]?.context).toMatchObject({ traceId, spanId, traceFlags: 0, isRemote: true })
    expect(span?.links[1]?.context.traceState?.serialize()).toBe('vendor=1')
  })

  test('an envelope is a span under each recorded trace of its commands', () => {
    const { spans } = startTracing()
    const traces = [buildTrace(1), buildTrace(2, { flags: 0 }), buildTrace(3)]
    envelopeSpan('shop', 3, traces).end('answered')
    expect(spans('POST gateway').map(span => [span.spanContext().traceId, span.parentSpanContext?.spanId])).toEqual(
      [traces[0]!, traces[2]!].map(({ traceId, spanId }) => [traceId, spanId]),
    )
  })

  test('the sending of records is a span that names their topic, if it is one, their number, and the kind of an error', () => {
    const { spans } = startTracing()
    sendSpan(['busgate.commands', 'busgate.commands']).end(undefined)
    const attributes = { 'messaging.system': 'kafka', 'messaging.operation.type': 'send' }
    expect(spans('send busgate.commands')).toMatchObject([
      {
        kind: SpanKind.PRODUCER,
        attributes: {
          ...attributes,
          'messaging.batch.message_count': 2,
          'messaging.destination.name': 'busgate.commands',
        },
        status: { code: SpanStatusCode.UNSET },
      },
    ])
    const error = Object.assign(new Error('secret'), { code: 'BUS_UNAVAILABLE' })
    for (const cause of [error, new TypeError('secret'), 'secret']) sendSpan(['a', 'b']).end(cause)
    const failed = spans('send')
    expect(failed.map(span => span.attributes['error.type'])).toEqual(['BUS_UNAVAILABLE', 'TypeError', '_OTHER'])
    expect(failed.map(({ status }) => status)).toEqual(Array(3).fill({ code: SpanStatusCode.ERROR }))
    expect(failed[0]?.attributes).not.toHaveProperty('messaging.destination.name')
  })

  test('the processing of a record is a span under the trace that it carries', () => {
    const { spans } = startTracing()
    const parent = buildTrace(1)
    processSpan(place, parent).end()
    processSpan(place, null).end()
    const [under, alone] = spans('process busgate.results')
    expect(under).toMatchObject({
      kind: SpanKind.CONSUMER,
      parentSpanContext: { spanId: parent.spanId },
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'busgate.results',
        'messaging.destination.partition.id': '3',
        'messaging.kafka.offset': 41,
      },
    })
    expect(alone?.parentSpanContext).toBeUndefined()
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

  test('each callback is a span that tells whether it was kept, and why not, in the trace of its command', async () => {
    const { spans } = startTracing()
    const bug = () => {
      throw new TypeError('a bug')
    }
    const [bench, broken] = [await receiverBench(), await receiverBench({}, { keyOf: bug })]
    const trace = buildTrace()
    await post(bench.url({ trace }))
    await post(bench.url(), '{')
    bench.bus.fail = new Error('not enough replicas')
    await post(bench.url())
    expect((await post(broken.url())).status).toBe(503)
    const outcomes = spans('POST /hooks').map(({ attributes }) => attributes['busgate.outcome'])
    expect(outcomes).toEqual(['kept', 'bad_json', 'not_published', 'failed'])
    expect(spans('POST /hooks').map(span => span.spanContext().traceId === trace.traceId)).toEqual([
      ...[true, false, false, false],
    ])
  })
})
