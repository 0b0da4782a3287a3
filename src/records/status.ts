import { hash } from 'node:crypto'
import type { OutgoingRecord } from '../bus/port.ts'
import { type TraceContext, traceHeaders } from '../telemetry/trace.ts'
import type { StatusEvent } from './generated.ts'
import { shortened, withShorter } from './shorten.ts'

/** The fields of a status event that come from the command. */
export type CommandFacts = Pick<StatusEvent, 'correlationId' | 'tenant' | 'campaign' | 'commandType' | 'country'>

export const unknownCommandFacts: CommandFacts = {
  correlationId: null,
  tenant: null,
  campaign: null,
  commandType: null,
  country: null,
}

/** A status event without its id. */
export type NewStatusEvent = Omit<StatusEvent, 'eventId'>

export type WriteStatus = (event: NewStatusEvent, trace: TraceContext | null) => OutgoingRecord

/** Writes status events as records of their topic, keyed by command id, with the command's trace if known. */
export function createStatusWriter(topic: string, encode: (event: StatusEvent) => Buffer): WriteStatus {
  const recordOf = (event: StatusEvent, trace: TraceContext | null): OutgoingRecord => ({
    topic,
    key: String(event.id),
    value: encode(event),
    ...(trace && { headers: { ...traceHeaders(trace) } }),
  })
  return (unnamed, trace) => {
    const event = { ...unnamed, eventId: eventIdOf(unnamed) }
    const shorter = () => shortened(event, ['error', 'status', 'type', 'account'])
    return withShorter(recordOf(event, trace), () => recordOf(shorter(), trace))
  }
}

const eventIdLength = 22

/**
 * Hash of the gateway's report and its source. The time of receipt and the command's fields do not change it, nor do fields
 * that a later version adds, while they are null.
 */
function eventIdOf({ receivedAt: _, id, ...event }: NewStatusEvent): string {
  const told = JSON.stringify({ id: String(id), ...event, ...unknownCommandFacts }, (_, value) => value ?? undefined)
  return hash('sha256', told, 'base64url').slice(0, eventIdLength) // 132 bits
}
