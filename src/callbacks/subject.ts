import type { TraceContext } from '../telemetry/trace.ts'

/** What a hook address stands for: one command, without its phone or text. */
export interface HookSubject {
  account: string
  id: bigint
  /** The gateway's `type` of the command, e.g. `viber+sms`. */
  type: string
  correlationId: string | null
  tenant: string | null
  /** The command's, without its state. */
  trace: TraceContext | null
}

/** A subject as it comes out of a token. */
export interface OpenedSubject extends HookSubject {
  /** When the address was made, milliseconds since 1970. */
  issuedAt: number
}

export const DAY_MS = 86_400_000

// Neither byte occurs in UTF-8, so fields need no lengths and may hold any text.
const FIELD_END = 0xff
const NULL_FIELD = 0xfe

const FIXED_BYTES = 12
const MOST_BYTES_PER_UNIT = 3
const FIELDS = 4

const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8
const TRACE_BYTES = TRACE_ID_BYTES + SPAN_ID_BYTES + 1

/** Room that `packSubject` may need, in bytes. */
export function subjectRoom(subject: HookSubject): number {
  const { account, type, correlationId, tenant } = subject
  const units = account.length + type.length + (correlationId?.length ?? 0) + (tenant?.length ?? 0)
  return FIXED_BYTES + FIELDS + units * MOST_BYTES_PER_UNIT + 2 + TRACE_BYTES
}

/**
 * Writes id (8 bytes), millisecond of the day (4), four fields of text, and the trace if there is one (25), at `start`;
 * answers where it ended.
 */
export function packSubject(into: Buffer, start: number, subject: HookSubject, msOfDay: number): number {
  into.writeUInt32BE(Number(subject.id >> 32n), start)
  into.writeUInt32BE(Number(subject.id & 0xffffffffn), start + 4)
  into.writeUInt32BE(msOfDay, start + 8)
  let end = packText(into, start + FIXED_BYTES, subject.account)
  end = packText(into, end, subject.type)
  end = packText(into, end, subject.correlationId)
  end = packText(into, end, subject.tenant)
  return subject.trace ? packTrace(into, end, subject.trace) : end
}

/** The reverse of `packSubject`; null when the bytes are not a subject. */
export function unpackSubject(bytes: Buffer, day: number): OpenedSubject | null {
  if (bytes.length < FIXED_BYTES) return null
  const fields: (string | null)[] = []
  let start = FIXED_BYTES
  while (fields.length < FIELDS) {
    const end = bytes.indexOf(FIELD_END, start)
    if (end === -1) return null
    fields.push(bytes[start] === NULL_FIELD ? null : bytes.toString('utf8', start, end))
    start = end + 1
  }
  const [account, type, correlationId, tenant] = fields
  const rest = bytes.subarray(start)
  if (account == null || type == null || (rest.length !== 0 && rest.length !== TRACE_BYTES)) return null
  return {
    account,
    id: bytes.readBigUInt64BE(0),
    type,
    correlationId: correlationId ?? null,
    tenant: tenant ?? null,
    issuedAt: day * DAY_MS + bytes.readUInt32BE(8),
    trace: rest.length === 0 ? null : unpackTrace(rest),
  }
}

function packTrace(into: Buffer, start: number, { traceId, spanId, flags }: TraceContext): number {
  const spanAt = start + into.write(traceId, start, TRACE_ID_BYTES, 'hex')
  return into.writeUInt8(flags, spanAt + into.write(spanId, spanAt, SPAN_ID_BYTES, 'hex'))
}

function unpackTrace(bytes: Buffer): TraceContext {
  const spanEnd = TRACE_ID_BYTES + SPAN_ID_BYTES
  return {
    traceId: bytes.toString('hex', 0, TRACE_ID_BYTES),
    spanId: bytes.toString('hex', TRACE_ID_BYTES, spanEnd),
    flags: bytes[spanEnd]!,
    state: null,
  }
}

function packText(into: Buffer, start: number, text: string | null): number {
  let end = start
  if (text === null) into[end++] = NULL_FIELD
  else end += into.write(text, start)
  into[end++] = FIELD_END
  return end
}
