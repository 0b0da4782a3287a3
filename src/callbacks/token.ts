import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomFillSync,
} from 'node:crypto'
import { dayMs, type OpenedSubject, packSubject, subjectRoom, type TokenSubject, unpackSubject } from './subject.ts'

/** Why a token does not open. `unknown_key`: this process may not have the key yet. */
type TokenFault = 'malformed' | 'unknown_key' | 'forged' | 'expired'

type Opened<T> = ({ ok: true } & T) | { ok: false; reason: TokenFault }

export interface HookTokenOptions {
  /** Read for each use, so that keys rotate without a restart. The first key issues, all keys open. */
  keys: () => readonly HookKey[]
  now?: () => number
}

/** How long a token is valid. The reconciler polls for messages that live longer. */
export const tokenLifeMs = 30 * dayMs
const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const gcmOptions = { authTagLength: tagBytes }
const accountDay = 0

interface Parts {
  kid: string
  day: number
  at: number
  bytes: Buffer
}

export type HookTokens = ReturnType<typeof createHookTokens>

/**
 * The secret last part of hook addresses: version (1 byte), length of kid (1), kid, day (2), nonce (12), ciphertext, tag
 * (16), in base64url without padding. AES-256-GCM with one key per day, which bounds the number of random nonces per key.
 * Account-level tokens have the day 0 and no content, and never expire: a person has entered them at the gateway.
 */
export function createHookTokens({ keys, now = Date.now }: HookTokenOptions) {
  const { issuing, opening } = createDayKeys(keys)

  return {
    /** @throws Error when there is no key */
    issue(subject: TokenSubject): string {
      const time = now()
      const day = Math.floor(time / dayMs)
      const { key, header } = issuing(day)
      const start = header.length + nonceBytes
      const bytes = Buffer.allocUnsafe(start + subjectRoom(subject) + tagBytes)
      const end = packSubject(bytes, start, subject, time - day * dayMs)
      bytes.set(header)
      seal(key, header, bytes, start, end)
      return bytes.toString('base64url', 0, end + tagBytes)
    },
    open(token: string): Opened<{ subject: OpenedSubject }> {
      const parts = split(token)
      if (parts === null) return { ok: false, reason: 'malformed' }
      // Checked before a key is derived, so that a stranger cannot make us derive keys for arbitrary days.
      const today = Math.floor(now() / dayMs)
      if (parts.day > today + 1) return { ok: false, reason: 'forged' }
      if ((parts.day + 1) * dayMs + tokenLifeMs < now()) return { ok: false, reason: 'expired' }
      const key = opening(parts)
      if (key === null) return { ok: false, reason: 'unknown_key' }
      const plain = unseal(parts, key, key.header)
      if (plain === null) return { ok: false, reason: 'forged' }
      const subject = unpackSubject(plain, parts.day)
      return subject.issuedAt + tokenLifeMs < now() ? { ok: false, reason: 'expired' } : { ok: true, subject }
    },
    issueAccount(account: string): string {
      const { key, header } = issuing(accountDay)
      const start = header.length + nonceBytes
      const bytes = Buffer.allocUnsafe(start + tagBytes)
      bytes.set(header)
      seal(key, accountData(header, account), bytes, start, start)
      return bytes.toString('base64url')
    },
    openAccount(account: string, token: string): Opened<object> {
      const parts = split(token)
      if (parts === null || parts.day !== accountDay) return { ok: false, reason: 'malformed' }
      const key = opening(parts)
      if (key === null) return { ok: false, reason: 'unknown_key' }
      const plain = unseal(parts, key, accountData(key.header, account))
      return plain?.length === 0 ? { ok: true } : { ok: false, reason: 'forged' }
    },
  }
}

/** The account is authenticated but not contained: the token does not open at another account's address. */
function accountData(header: Buffer, account: string): Buffer {
  return Buffer.concat([header, Buffer.from(account)])
}

function split(token: string): Parts | null {
  const bytes = Buffer.from(token, 'base64url')
  // Node decodes leniently; only the canonical spelling is accepted.
  if (bytes.toString('base64url') !== token) return null
  const kidEnd = 2 + (bytes[1] ?? 0)
  if (bytes[0] !== tokenVersion || bytes.length < kidEnd + 2 + nonceBytes + tagBytes) return null
  return { kid: bytes.toString('utf8', 2, kidEnd), day: bytes.readUInt16BE(kidEnd), at: kidEnd + 2, bytes }
}

/** Encrypts `bytes` from `start` to `end` in place; writes a new nonce before and the tag after them. */
function seal(key: KeyObject, clear: Buffer, bytes: Buffer, start: number, end: number): void {
  const nonce = randomFillSync(bytes.subarray(start - nonceBytes, start))
  const cipher = createCipheriv(algorithm, key, nonce, gcmOptions).setAAD(clear)
  bytes.set(cipher.update(bytes.subarray(start, end)), start)
  cipher.final()
  bytes.set(cipher.getAuthTag(), end)
}

function unseal({ bytes, at }: Parts, { key }: DayKey, clear: Buffer): Buffer | null {
  const start = at + nonceBytes
  const end = bytes.length - tagBytes
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(at, start), gcmOptions)
  decipher.setAAD(clear).setAuthTag(bytes.subarray(end))
  const plain = decipher.update(bytes.subarray(start, end))
  try {
    decipher.final()
    return plain
  } catch {
    return null
  }
}

/** One entry of `callbacks.secret`. */
export interface HookKey {
  /** Identifies the secret in the address, in clear text; at most 255 bytes. */
  kid: string
  secret: string
}

/** The key of one day, and the clear-text header of everything it seals. */
interface DayKey {
  /** A KeyObject initialises a cipher five times faster than raw bytes. */
  key: KeyObject
  /** Version, length of kid, kid, day; authenticated together with the ciphertext. */
  header: Buffer
}

export const tokenVersion = 1

/** Derives and caches the key of a secret and a day (days since 1970). */
function createDayKeys(keys: () => readonly HookKey[]) {
  const cache = new Map<string, DayKey>()

  function dayKey({ kid, secret }: HookKey, day: number): DayKey {
    const name = `${day}:${kid}:${secret}`
    const known = cache.get(name)
    if (known) return known
    const made = { key: derive(secret, day), header: headerOf(kid, day) }
    cache.set(name, made)
    return made
  }

  return {
    /** @throws Error when there is no key */
    issuing(day: number): DayKey {
      const first = keys()[0]
      if (first === undefined) throw new Error('callbacks.secret holds no key: hook addresses cannot be made')
      return dayKey(first, day)
    },
    /** The key that a token names; null if this process does not have it. */
    opening({ kid, day }: Parts): DayKey | null {
      const named = keys().find(key => key.kid === kid)
      return named === undefined ? null : dayKey(named, day)
    },
  }
}

function derive(secret: string, day: number): KeyObject {
  return createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', `busgate hook ${day}`, 32)))
}

function headerOf(kid: string, day: number): Buffer {
  const name = Buffer.from(kid)
  const header = Buffer.alloc(name.length + 4)
  header[0] = tokenVersion
  header[1] = name.length
  name.copy(header, 2)
  header.writeUInt16BE(day, header.length - 2)
  return header
}
