import type { TraceContext } from '../../src/telemetry/trace.ts'

/** Builds a sampled trace context, as a command may carry it. Each number makes another trace. */
export function buildTrace(number = 1, changes: Partial<TraceContext> = {}): TraceContext {
  const digits = number.toString(16)
  return { traceId: digits.padStart(32, 'a'), spanId: digits.padStart(16, 'b'), flags: 1, state: null, ...changes }
}
