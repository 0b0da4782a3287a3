import type { OutgoingRecord } from '../bus/port.ts'
import { inVersions } from '../bus/shorter.ts'
import type { StatusEvent } from '../records/generated.ts'
import { shortened } from '../records/shorten.ts'
import { statusShortenings } from '../records/status.ts'
import { type TraceContext, traceHeaders } from '../telemetry/trace.ts'

export type WriteStatus = (event: StatusEvent, trace: TraceContext | null) => OutgoingRecord

/** Writes status events as records of their topic, keyed by the command's id, with its trace where that is known. */
export function createStatusWriter(topic: string, encode: (event: StatusEvent) => Buffer): WriteStatus {
  return (event, trace) =>
    inVersions(statusShortenings.length, version => ({
      topic,
      key: Buffer.from(String(event.id)),
      value: encode(shortened(event, statusShortenings.slice(0, version))),
      ...(trace && { headers: { ...traceHeaders(trace) } }),
    }))
}
