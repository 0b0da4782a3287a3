import { describe, expect, test } from 'vitest'
import { recordedTraceId, traceHeaders, traceOf } from '../../src/telemetry/trace.ts'
import { buildTrace } from '../support/traces.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`

describe('a trace', () => {
  test('is read from headers as bytes or text', () => {
    const trace = { traceId, spanId, flags: 1, state: null }
    expect(traceOf({ traceparent: Buffer.from(traceparent), other: 'x' })).toEqual(trace)
    expect(traceOf({ traceparent })).toEqual(trace)
    expect(traceOf({ traceparent: `00-${traceId}-${spanId}-00` })?.flags).toBe(0)
  })

  test('is propagated unchanged', () => {
    expect(traceHeaders(traceOf({ traceparent })!)).toEqual({ traceparent })
    const tracestate = 'vendor=a:1,other=b;2'
    expect(traceHeaders(traceOf({ traceparent, tracestate: Buffer.from(tracestate) })!)).toEqual({
      traceparent,
      tracestate,
    })
  })

  test.each([
    ['is missing', {}],
    ['is empty', { traceparent: '' }],
    ['is in upper case', { traceparent: traceparent.toUpperCase() }],
    ['has no span', { traceparent: `00-${traceId}` }],
    ['has a trace of zeros', { traceparent: `00-${'0'.repeat(32)}-${spanId}-01` }],
    ['has a span of zeros', { traceparent: `00-${traceId}-${'0'.repeat(16)}-01` }],
    ['has more fields than its version', { traceparent: `${traceparent}-00` }],
    ['has the forbidden version', { traceparent: traceparent.replace('00', 'ff') }],
    ['begins with a space', { traceparent: ` ${traceparent}` }],
    ['is followed by a line', { traceparent: `${traceparent}\nx` }],
    ['comes twice', { traceparent: [traceparent, traceparent] }],
    ['is too long', { traceparent: `cc${traceparent.slice(2)}-${'x'.repeat(200)}` }],
    ['is not text', { traceparent: 5 }],
  ])('is null if the header %s', (_, headers) => {
    expect(traceOf(headers)).toBeNull()
  })

  test("of a later version is propagated in this version's form", () => {
    const later = traceOf({ traceparent: `cc-${traceId}-${spanId}-01-what-will-be` })
    expect(later && traceHeaders(later)).toEqual({ traceparent })
  })

  test.each([
    ['too long', 'v='.padEnd(513, 'x')],
    ['not plain text', 'v=\u0007'],
    ['given twice', ['v=1', 'v=2']],
    ['empty', ''],
  ])('loses its tracestate, but nothing else, if that is %s', (_, tracestate) => {
    expect(traceHeaders(traceOf({ traceparent, tracestate })!)).toEqual({ traceparent })
  })

  test('is named in the log if it is the first recorded one', () => {
    const unrecorded = buildTrace(1, { flags: 0 })
    expect(recordedTraceId([])).toBeNull()
    expect(recordedTraceId([null, unrecorded])).toBeNull()
    expect(recordedTraceId([null, unrecorded, buildTrace(2), buildTrace(3)])).toBe(buildTrace(2).traceId)
  })
})
