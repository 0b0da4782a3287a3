import type { TraceContext } from '../../src/telemetry/trace.ts'

/** A trace that is recorded, as a command may carry it; each number is another one. */
export function buildTrace(number = 1, changes: Partial<TraceContext> = {}): TraceContext {
  const digits = number.toString(16)
  return { traceId: digits.padStart(32, 'a'), spanId: digits.padStart(16, 'b'), flags: 1, state: null, ...changes }
}
