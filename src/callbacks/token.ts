import { createSecretKey, hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { Keystream, placeBytes } from './keystream.ts'
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
const keyBytes = 32
const tagBytes = 16
const accountDay = 0

interface Parts {
  kid: string
  day: number
  /** All before the tag. */
  clear: Buffer
  /** Place in the keystream, and ciphertext. */
  sealed: Buffer
  tag: Buffer
}

export type HookTokens = ReturnType<typeof createHookTokens>

/**
 * The secret last part of hook addresses: version (1 byte), length of kid (1), kid, day (2), place in the keystream (12),
 * ciphertext, tag (16), in base64url without padding. AES-256-CTR encrypts; the tag is SHA3-256 of a key and all bytes before it.
 * Each secret has two keys a day, which bounds the number of random nonces per key. Account-level tokens have the day 0 and no
 * content, and never expire: a person has entered them at the gateway.
 */
export function createHookTokens({ keys, now = Date.now }: HookTokenOptions) {
  const { issuing, opening } = createDayKeys(keys)

  return {
    /** @throws Error when there is no key */
    issue(subject: TokenSubject): string {
      const time = now()
      const day = Math.floor(time / dayMs)
      const key = issuing(day)
      const bytes = roomFor(keyBytes + key.header.length + placeBytes + subjectRoom(subject) + tagBytes)
      const start = begin(bytes, key)
      const end = packSubject(bytes, start + placeBytes, subject, time - day * dayMs)
      key.stream.encrypt(bytes, start, end)
      bytes.write(tagOf(bytes.subarray(0, end)), end, tagBytes, 'base64url')
      return bytes.toString('base64url', keyBytes, end + tagBytes)
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
      if (!isAuthentic(key, parts)) return { ok: false, reason: 'forged' }
      const subject = unpackSubject(key.stream.decrypt(parts.sealed), parts.day)
      return subject.issuedAt + tokenLifeMs < now() ? { ok: false, reason: 'expired' } : { ok: true, subject }
    },
    issueAccount(account: string): string {
      const key = issuing(accountDay)
      const end = key.header.length + placeBytes
      const bytes = Buffer.alloc(end + tagBytes)
      bytes.set(key.header)
      bytes.write(accountTagOf(key, bytes.subarray(0, end), account), end, tagBytes, 'base64url')
      return bytes.toString('base64url')
    },
    openAccount(account: string, token: string): Opened<object> {
      const parts = split(token)
      if (parts === null || parts.day !== accountDay) return { ok: false, reason: 'malformed' }
      const key = opening(parts)
      if (key === null) return { ok: false, reason: 'unknown_key' }
      if (parts.sealed.length > placeBytes) return { ok: false, reason: 'forged' }
      return isAuthentic(key, parts, account) ? { ok: true } : { ok: false, reason: 'forged' }
    },
  }
}

/** Room for usual tokens, behind the key. Nothing in it outlives a call but the key, which no other buffer may contain. */
const usual = Buffer.alloc(4096)

const roomFor = (bytes: number): Buffer => (bytes > usual.length ? Buffer.alloc(bytes) : usual)

/** Writes what stands before the place in the keystream. @returns where it ends */
function begin(bytes: Buffer, { tagKey, header }: DayKey): number {
  bytes.set(tagKey)
  bytes.set(header, keyBytes)
  return keyBytes + header.length
}

/** The tag of what follows the key, as text; it may be longer than a token's. */
const tagOf = (keyed: Buffer): string => hash('sha3-256', keyed, 'base64url')

/** The account is authenticated but not contained: the token does not open at another account's address. */
const accountTagOf = ({ tagKey }: DayKey, clear: Buffer, account: string): string =>
  tagOf(Buffer.concat([tagKey, clear, Buffer.from(account)]))

function isAuthentic(key: DayKey, { clear, tag }: Parts, account = ''): boolean {
  const expected = Buffer.from(accountTagOf(key, clear, account), 'base64url')
  return timingSafeEqual(expected.subarray(0, tagBytes), tag)
}

function split(token: string): Parts | null {
  const bytes = Buffer.from(token, 'base64url')
  // Node decodes leniently; only the canonical spelling is accepted.
  if (bytes.toString('base64url') !== token) return null
  const kidEnd = 2 + (bytes[1] ?? 0)
  const at = kidEnd + 2
  if (bytes[0] !== tokenVersion || bytes.length < at + placeBytes + tagBytes) return null
  const end = bytes.length - tagBytes
  return {
    kid: bytes.toString('utf8', 2, kidEnd),
    day: bytes.readUInt16BE(kidEnd),
    clear: bytes.subarray(0, end),
    sealed: bytes.subarray(at, end),
    tag: bytes.subarray(end),
  }
}

/** One entry of `callbacks.secret`. */
export interface HookKey {
  /** Identifies the secret in the address, in clear text; at most 255 bytes. */
  kid: string
  secret: string
}

/** The keys of one day, and the clear-text header of everything they seal. */
interface DayKey {
  stream: Keystream
  tagKey: Buffer
  /** Version, length of kid, kid, day. */
  header: Buffer
}

export const tokenVersion = 2

/** Derives and caches the key of a secret and a day (days since 1970). */
function createDayKeys(keys: () => readonly HookKey[]) {
  const cache = new Map<string, DayKey>()

  function dayKey({ kid, secret }: HookKey, day: number): DayKey {
    const name = `${day}:${kid}:${secret}`
    const known = cache.get(name)
    if (known) return known
    const made = { ...derive(secret, day), header: headerOf(kid, day) }
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

function derive(secret: string, day: number): Pick<DayKey, 'stream' | 'tagKey'> {
  const both = Buffer.from(hkdfSync('sha256', secret, '', `busgate hook ${day}`, 2 * keyBytes))
  return {
    stream: new Keystream(createSecretKey(both.subarray(0, keyBytes))),
    tagKey: both.subarray(keyBytes),
  }
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
