/** What a hook address stands for: one command, without its phone or text. */
export interface HookSubject {
  account: string
  id: bigint
  /** The gateway's `type` of the command, e.g. `viber+sms`. */
  type: string
  correlationId: string | null
  tenant: string | null
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

/** Room that `packSubject` may need, in bytes. */
export function subjectRoom(subject: HookSubject): number {
  const { account, type, correlationId, tenant } = subject
  const units = account.length + type.length + (correlationId?.length ?? 0) + (tenant?.length ?? 0)
  return FIXED_BYTES + 4 + units * MOST_BYTES_PER_UNIT + 2
}

/** Writes id (8 bytes), millisecond of the day (4) and four fields of text at `start`; answers where it ended. */
export function packSubject(into: Buffer, start: number, subject: HookSubject, msOfDay: number): number {
  into.writeUInt32BE(Number(subject.id >> 32n), start)
  into.writeUInt32BE(Number(subject.id & 0xffffffffn), start + 4)
  into.writeUInt32BE(msOfDay, start + 8)
  let end = packText(into, start + FIXED_BYTES, subject.account)
  end = packText(into, end, subject.type)
  end = packText(into, end, subject.correlationId)
  return packText(into, end, subject.tenant)
}

/** The reverse of `packSubject`; null when the bytes are not a subject. */
export function unpackSubject(bytes: Buffer, day: number): OpenedSubject | null {
  if (bytes.length < FIXED_BYTES) return null
  const fields: (string | null)[] = []
  for (let start = FIXED_BYTES; start < bytes.length; ) {
    const end = bytes.indexOf(FIELD_END, start)
    if (end === -1) return null
    fields.push(bytes[start] === NULL_FIELD ? null : bytes.toString('utf8', start, end))
    start = end + 1
  }
  const [account, type, correlationId, tenant] = fields
  if (fields.length !== 4 || account == null || type == null) return null
  return {
    account,
    id: bytes.readBigUInt64BE(0),
    type,
    correlationId: correlationId ?? null,
    tenant: tenant ?? null,
    issuedAt: day * DAY_MS + bytes.readUInt32BE(8),
  }
}

function packText(into: Buffer, start: number, text: string | null): number {
  let end = start
  if (text === null) into[end++] = NULL_FIELD
  else end += into.write(text, start)
  into[end++] = FIELD_END
  return end
}
