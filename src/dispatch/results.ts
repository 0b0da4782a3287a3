import type { OutgoingRecord, RecordHeaders } from '../bus/port.ts'
import { noHeaders } from '../bus/record-headers.ts'
import { inVersions } from '../bus/shorter.ts'
import type { ErrorCode } from '../protocol/index.ts'
import type { SendResult } from '../records/generated.ts'
import {
  hookHeader,
  lifetimeHeader,
  longestError,
  noHook,
  noPayload,
  type ResultPayload,
  resultShortenings,
} from '../records/result.ts'
import { shortened } from '../records/shorten.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { type TraceContext, traceHeaders } from '../telemetry/trace.ts'
import type { Origin } from './pending.ts'

/** Whom a result is about: a command, or what could be read of an invalid one. */
export interface ResultSubject {
  id: bigint
  type: string
  account: string
  correlationId: string | null
  tenant: string | null
  /** Seconds, where the command says so. */
  lifetime?: number | null
  /** Whether no hook of its own went with it. */
  unhooked?: boolean
  trace: TraceContext | null
}

export interface ResultDetails {
  outcome: SendResult['outcome']
  attempts: number
  errorCode?: ErrorCode
  error?: string
  payload?: ResultPayload
  /** Milliseconds since 1970 of the first byte of the POST. */
  sentAt?: number
}

/** @param unreadable why it could not be sent again, where that is so */
export function nobodyCouldTell(unreadable?: string): string {
  const text = 'nobody could tell whether it was sent'
  return unreadable === undefined ? text : `${text}, and it could not be sent again: ${unreadable}`
}

export type WriteResult = (subject: ResultSubject, origin: Origin, details: ResultDetails) => OutgoingRecord

/** Writes results as records of the results topic, keyed by the command's id. */
export function createResultWriter(
  topic: string,
  encode: (result: SendResult) => Buffer,
  now: () => number,
): WriteResult {
  return (subject, origin, { outcome, attempts, errorCode, error, payload = noPayload, sentAt }) => {
    const key = Buffer.from(String(subject.id))
    const result: SendResult = {
      id: subject.id,
      type: subject.type,
      account: subject.account,
      outcome,
      final: outcome !== 'IN_DOUBT',
      msgId: payload.msgId,
      parts: payload.parts,
      errorCode: errorCode ?? null,
      error: error?.slice(0, longestError) ?? null,
      code: payload.code,
      price: payload.price,
      hlr: payload.hlr,
      payload: payload.payload,
      attempts,
      commandTopic: origin.topic,
      commandPartition: origin.partition,
      commandOffset: origin.record.offset,
      sentAt: sentAt ?? null,
      completedAt: now(),
      correlationId: subject.correlationId,
      tenant: subject.tenant,
    }
    return inVersions(resultShortenings.length, version => ({
      topic,
      key,
      headers: headersOf(subject),
      value: encode(version === 0 ? result : shortened(result, resultShortenings.slice(0, version))),
    }))
  }
}

/** What most results do without. */
function headersOf({ lifetime = null, unhooked = false, trace }: ResultSubject): RecordHeaders {
  if (lifetime === null && !unhooked && trace === null) return noHeaders
  return {
    ...(unhooked && { [hookHeader]: noHook }),
    ...(lifetime !== null && { [lifetimeHeader]: String(lifetime) }),
    ...(trace !== null && traceHeaders(trace)),
  }
}

interface TallyGroup {
  type: string
  outcome: string
  errorCode: string | null
  count: number
}

/** Counts results and doubts that are published together, so that telemetry hears once a group. */
export class ResultTally {
  /** Few: the types, outcomes and codes of one envelope. */
  readonly #groups: TallyGroup[] = []
  readonly #doubts = new Map<string, number>()

  get isEmpty(): boolean {
    return this.#groups.length === 0 && this.#doubts.size === 0
  }

  add(type: string, outcome: string, errorCode: string | null): void {
    const group = this.#groups.find(
      group => group.type === type && group.outcome === outcome && group.errorCode === errorCode,
    )
    if (group) group.count++
    else this.#groups.push({ type, outcome, errorCode, count: 1 })
  }

  addDoubt(cause: string): void {
    this.#doubts.set(cause, (this.#doubts.get(cause) ?? 0) + 1)
  }

  /** To be called when the results are committed. */
  announce(telemetry: Telemetry): void {
    for (const [cause, count] of this.#doubts) telemetry.emit('doubt.opened', { cause, count })
    for (const group of this.#groups) telemetry.emit('results.published', group)
  }
}
