import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import { createDayKeys, type DayKey, type HookKey, TOKEN_VERSION } from './day-keys.ts'
import { GcmSealer, NONCE_BYTES, TAG_BYTES } from './gcm.ts'
import { DAY_MS, type HookSubject, type OpenedSubject, packSubject, subjectRoom, unpackSubject } from './subject.ts'

/** Why a token does not open. `unknown_key`: perhaps a key that this process has not been given yet. */
export type TokenFault = 'malformed' | 'unknown_key' | 'forged' | 'expired'

type Opened<T> = ({ ok: true } & T) | { ok: false; reason: TokenFault }

/**
 * The secret last part of hook addresses: version (1 byte), length of kid (1), kid, day (2), nonce (12), ciphertext,
 * tag (16), in base64url without padding. AES-256-GCM; each day has a key of its own, so that random nonces never run
 * out. Account-level tokens carry the day 0, no content and no end of life: a person has entered them at the gateway.
 */
export interface HookTokens {
  /** @throws Error when there is no key at all. */
  issue(subject: HookSubject): string
  open(token: string): Opened<{ subject: OpenedSubject }>
  issueAccount(account: string): string
  openAccount(account: string, token: string): Opened<object>
}

export interface HookTokenOptions {
  /** Read at each use, so that keys rotate without a restart. The first one issues, all of them open. */
  keys: () => readonly HookKey[]
  tokenLifeMs: number
  now?: () => number
  /** Fills a buffer with random bytes. */
  random?: (bytes: Buffer) => unknown
}

const ALGORITHM = 'aes-256-gcm'
const GCM = { authTagLength: TAG_BYTES }
const ACCOUNT_DAY = 0

interface Parts {
  kid: string
  day: number
  /** Where the nonce begins. */
  at: number
  bytes: Buffer
}

export function createHookTokens(options: HookTokenOptions): HookTokens {
  const { keys, tokenLifeMs, now = Date.now, random = randomFillSync } = options
  const dayKey = createDayKeys()
  const scratch = Buffer.allocUnsafeSlow(1024)
  let sealer: GcmSealer | null = null

  function issuingKey(day: number): DayKey {
    const first = keys()[0]
    if (first === undefined) throw new Error('callbacks.secret holds no key: hook addresses cannot be made')
    return dayKey(first, day)
  }

  function sealerOf({ key, header }: DayKey): GcmSealer {
    if (sealer?.key !== key) sealer = new GcmSealer(key, header, random)
    return sealer
  }

  function openingKey({ kid, day }: Parts): DayKey | null {
    const named = keys().find(key => key.kid === kid)
    return named === undefined ? null : dayKey(named, day)
  }

  function issue(subject: HookSubject): string {
    const time = now()
    const day = Math.floor(time / DAY_MS)
    const dayKey = issuingKey(day)
    const { header } = dayKey
    const start = header.length + NONCE_BYTES
    const room = start + subjectRoom(subject) + TAG_BYTES
    const bytes = room <= scratch.length ? scratch : Buffer.allocUnsafe(room)
    const end = packSubject(bytes, start, subject, time - day * DAY_MS)
    bytes.set(header)
    sealerOf(dayKey).seal(bytes, start, end)
    return bytes.toString('base64url', 0, end + TAG_BYTES)
  }

  function open(token: string): Opened<{ subject: OpenedSubject }> {
    const parts = split(token)
    if (parts === null) return { ok: false, reason: 'malformed' }
    // Told before any key is derived: a stranger cannot make us derive keys for days that never were.
    const today = Math.floor(now() / DAY_MS)
    if (parts.day > today + 1) return { ok: false, reason: 'forged' }
    if ((parts.day + 1) * DAY_MS + tokenLifeMs < now()) return { ok: false, reason: 'expired' }
    const key = openingKey(parts)
    if (key === null) return { ok: false, reason: 'unknown_key' }
    const plain = unseal(parts, key, key.header)
    const subject = plain === null ? null : unpackSubject(plain, parts.day)
    if (subject === null) return { ok: false, reason: 'forged' }
    return subject.issuedAt + tokenLifeMs < now() ? { ok: false, reason: 'expired' } : { ok: true, subject }
  }

  function issueAccount(account: string): string {
    const { key, header } = issuingKey(ACCOUNT_DAY)
    const nonce = Buffer.alloc(NONCE_BYTES)
    random(nonce)
    const cipher = createCipheriv(ALGORITHM, key, nonce, GCM).setAAD(accountData(header, account))
    cipher.final()
    return Buffer.concat([header, nonce, cipher.getAuthTag()]).toString('base64url')
  }

  function openAccount(account: string, token: string): Opened<object> {
    const parts = split(token)
    if (parts === null || parts.day !== ACCOUNT_DAY) return { ok: false, reason: 'malformed' }
    const key = openingKey(parts)
    if (key === null) return { ok: false, reason: 'unknown_key' }
    const plain = unseal(parts, key, accountData(key.header, account))
    return plain?.length === 0 ? { ok: true } : { ok: false, reason: 'forged' }
  }

  return { issue, open, issueAccount, openAccount }
}

/** The account is not in the token, it is authenticated with it: moved to another account's address it does not open. */
function accountData(header: Buffer, account: string): Buffer {
  return Buffer.concat([header, Buffer.from(account)])
}

function split(token: string): Parts | null {
  const bytes = Buffer.from(token, 'base64url')
  // Node decodes leniently; only the one true spelling of a token is taken.
  if (bytes.toString('base64url') !== token) return null
  const kidEnd = 2 + (bytes[1] ?? 0)
  if (bytes[0] !== TOKEN_VERSION || bytes.length < kidEnd + 2 + NONCE_BYTES + TAG_BYTES) return null
  return { kid: bytes.toString('utf8', 2, kidEnd), day: bytes.readUInt16BE(kidEnd), at: kidEnd + 2, bytes }
}

function unseal({ bytes, at }: Parts, { key }: DayKey, clear: Buffer): Buffer | null {
  const start = at + NONCE_BYTES
  const end = bytes.length - TAG_BYTES
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(at, start), GCM)
  decipher.setAAD(clear).setAuthTag(bytes.subarray(end))
  const plain = decipher.update(bytes.subarray(start, end))
  try {
    decipher.final()
    return plain
  } catch {
    return null
  }
}
