import type { HookSubject } from '../records/command.ts'
import type { TraceContext } from '../telemetry/trace.ts'

/** The content of a hook address: one command, without its phone or text. Its trace comes without the state. */
export interface TokenSubject extends Omit<HookSubject, 'type'> {
  /** The gateway's `type` of the command, e.g. `viber+sms`. */
  type: string
}

export interface OpenedSubject extends TokenSubject {
  /** Creation time of the address, milliseconds since 1970. */
  issuedAt: number
}

/** The id in the addresses that `busgate doctor` tries. No command has it. */
export const probeId = 0n

export const dayMs = 86_400_000

// Neither byte occurs in UTF-8, so fields can hold any text and need no lengths.
const fieldEnd = 0xff
const nullField = 0xfe

const fixedBytes = 12
const mostBytesPerUnit = 3
/** The texts in the order of a token. */
const textsOf = ({ account, type, country, correlationId, tenant, campaign }: TokenSubject) =>
  [account, type, country, correlationId, tenant, campaign] as const
type Texts = ReturnType<typeof textsOf>
const fieldCount = 6

const traceIdBytes = 16
const spanIdBytes = 8
const traceBytes = traceIdBytes + spanIdBytes + 1

/** Upper bound of the bytes that `packSubject` writes. */
export function subjectRoom(subject: TokenSubject): number {
  const units = textsOf(subject).reduce((sum, text) => sum + (text?.length ?? 0), 0)
  return fixedBytes + fieldCount + units * mostBytesPerUnit + 2 + traceBytes
}

/**
 * Writes id (8 bytes), millisecond of the day (4), the texts, and the trace if there is one (25). @returns the end position
 */
export function packSubject(into: Buffer, start: number, subject: TokenSubject, msOfDay: number): number {
  into.writeUInt32BE(Number(subject.id >> 32n), start)
  into.writeUInt32BE(Number(subject.id & 0xffffffffn), start + 4)
  into.writeUInt32BE(msOfDay, start + 8)
  let end = start + fixedBytes
  for (const text of textsOf(subject)) end = packText(into, end, text)
  return subject.trace ? packTrace(into, end, subject.trace) : end
}

/** The reverse of `packSubject`. The bytes are authenticated, hence a subject. */
export function unpackSubject(bytes: Buffer, day: number): OpenedSubject {
  const fields: (string | null)[] = []
  let start = fixedBytes
  while (fields.length < fieldCount) {
    const end = bytes.indexOf(fieldEnd, start)
    fields.push(bytes[start] === nullField ? null : bytes.toString('utf8', start, end))
    start = end + 1
  }
  const [account, type, country, correlationId, tenant, campaign] = fields as unknown as Texts
  return {
    account,
    id: bytes.readBigUInt64BE(0),
    type,
    country,
    correlationId,
    tenant,
    campaign,
    issuedAt: day * dayMs + bytes.readUInt32BE(8),
    trace: start === bytes.length ? null : unpackTrace(bytes.subarray(start)),
  }
}

function packTrace(into: Buffer, start: number, { traceId, spanId, flags }: TraceContext): number {
  const spanAt = start + into.write(traceId, start, traceIdBytes, 'hex')
  return into.writeUInt8(flags, spanAt + into.write(spanId, spanAt, spanIdBytes, 'hex'))
}

function unpackTrace(bytes: Buffer): TraceContext {
  const spanEnd = traceIdBytes + spanIdBytes
  return {
    traceId: bytes.toString('hex', 0, traceIdBytes),
    spanId: bytes.toString('hex', traceIdBytes, spanEnd),
    flags: bytes[spanEnd]!,
    state: null,
  }
}

function packText(into: Buffer, start: number, text: string | null): number {
  let end = start
  if (text === null) into[end++] = nullField
  else end += into.write(text, start)
  into[end++] = fieldEnd
  return end
}
