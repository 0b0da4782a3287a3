import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/** One entry of `callbacks.secret`. */
export interface HookKey {
  /** Names the secret inside the address, in the clear; at most 255 bytes. */
  kid: string
  secret: string
}

/** A key good for one day, and the clear bytes that stand in front of everything it seals. */
export interface DayKey {
  /** A KeyObject: with it a cipher starts five times faster than with the key's bytes. */
  key: KeyObject
  /** Version, length of kid, kid, day. Authenticated with the ciphertext. */
  header: Buffer
}

export const tokenVersion = 1

const mostDays = 1000
const mostKeysADay = 16

interface CachedKey extends HookKey, DayKey {}

/** Derives the key of a secret and a day (days since 1970) and remembers it. */
export function createDayKeys(): (from: HookKey, day: number) => DayKey {
  const cache = new Map<number, CachedKey[]>()

  return (from, day) => {
    const ofDay = cache.get(day)
    const known = ofDay?.find(cached => cached.kid === from.kid && cached.secret === from.secret)
    if (known !== undefined) return known
    const made = { ...from, key: derive(from.secret, day), header: headerOf(from.kid, day) }
    if (ofDay !== undefined && ofDay.length < mostKeysADay) ofDay.push(made)
    else {
      if (cache.size >= mostDays) cache.clear()
      cache.set(day, [made])
    }
    return made
  }
}

function derive(secret: string, day: number): KeyObject {
  return createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', `busgate hook ${day}`, 32)))
}

function headerOf(kid: string, day: number): Buffer {
  const name = Buffer.from(kid)
  if (name.length === 0 || name.length > 255) {
    throw new RangeError('callbacks.secret: a key id must have 1 to 255 bytes, as in `kid:secret`')
  }
  const header = Buffer.alloc(name.length + 4)
  header[0] = tokenVersion
  header[1] = name.length
  name.copy(header, 2)
  header.writeUInt16BE(day, header.length - 2)
  return header
}
