import type { BusRecord, OutgoingRecord } from '../bus/port.ts'
import { inVersions } from '../bus/shorter.ts'
import type { SendResult } from '../records/generated.ts'
import { hookHeader, lifetimeHeader, resultShortenings } from '../records/result.ts'
import { shortened } from '../records/shorten.ts'
import { traceHeaders, traceOf } from '../telemetry/trace.ts'
import { type Schedule, withSchedule } from './schedule.ts'

/** @param record that the result came in */
export type WriteOverdue = (record: BusRecord, result: SendResult, schedule: Schedule) => OutgoingRecord

/** Writes overdue messages: the result's own bytes and headers, and the schedule. A shorter one is encoded anew. */
export function createOverdueWriter(topic: string, encode: (result: SendResult) => Buffer): WriteOverdue {
  return ({ key, value, headers }, result, schedule) =>
    inVersions(1 + resultShortenings.length, version => {
      if (version === 0) return { topic, key, value, headers: withSchedule(headers, schedule) }
      const trace = traceOf(headers)
      const { [lifetimeHeader]: lifetime, [hookHeader]: hook } = headers
      const own = {
        ...(lifetime && { [lifetimeHeader]: lifetime }),
        ...(hook && { [hookHeader]: hook }),
        ...(trace && traceHeaders(trace)),
      }
      return {
        topic,
        key: Buffer.from(String(result.id)),
        value: encode(shortened(result, resultShortenings.slice(0, version - 1))),
        headers: withSchedule(own, schedule),
      }
    })
}
