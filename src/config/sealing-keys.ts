import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { isObject } from '../protocol/json.ts'

/** How the content of a message is sealed with a key: for its holder alone, or with a secret that both sides have. */
export type SealingAlgorithm = 'ECDH-ES' | 'dir'

/** A key of sealed content. */
export interface SealingKey {
  kid: string
  alg: SealingAlgorithm
  /** Its curve; null for a secret. */
  curve: string | null
  key: KeyObject
}

/** What a key is for: workers open content, producers seal it. */
type Use = 'open' | 'seal'

/** Bounded, since errors and dead letters name it. */
const kidPattern = /^[A-Za-z0-9._~-]{1,64}$/
export const kidExpected = '1 to 64 letters, digits, dots, dashes, underscores or tildes'

export const isKid = (kid: unknown): kid is string => typeof kid === 'string' && kidPattern.test(kid)

/** A256GCM takes 32 bytes. */
export const secretBytes = 32

/** A key in JSON (RFC 7517). */
export type Jwk = Readonly<Record<string, unknown>>

/**
 * Reads a JWK Set (RFC 7517).
 * @throws Error that says what is wrong with which key, without its content
 */
export function readSealingKeys(set: unknown, use: Use): SealingKey[] {
  const jwks = isObject(set) ? set.keys : undefined
  if (!Array.isArray(jwks) || jwks.length === 0)
    throw new Error('expected a JWK Set: {"keys": [ … ]} with one key or more')
  const keys = jwks.map((jwk, i) => {
    try {
      return readSealingKey(jwk, use)
    } catch (error) {
      throw new Error(`key ${i + 1}: ${(error as Error).message}`)
    }
  })
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) throw new Error('two keys have the same kid')
  return keys
}

/**
 * The key that seals: a JWK, or the first of a JWK Set.
 * @throws Error that says what is wrong with which key, without its content
 */
export function keyThatSeals(given: Jwk): SealingKey {
  return 'keys' in given ? readSealingKeys(given, 'seal')[0]! : readSealingKey(given, 'seal')
}

function readSealingKey(jwk: unknown, use: Use): SealingKey {
  if (!isObject(jwk)) throw new Error('expected a JWK: an object')
  const { kid, kty, crv, alg } = jwk
  if (!isKid(kid)) throw new Error(`kid must have ${kidExpected}`)
  if (jwk.use !== undefined && jwk.use !== 'enc') throw new Error('use must be enc')
  const read = (own: SealingAlgorithm, curve: string | null, make: () => KeyObject) => {
    if (alg !== undefined && alg !== own) throw new Error(`alg must be ${own}`)
    return { kid, alg: own, curve, key: keyObject(make) }
  }
  if (kty === 'oct') return read('dir', null, () => secretOf(jwk))
  if (!(kty === 'EC' && crv === 'P-256') && !(kty === 'OKP' && crv === 'X25519'))
    throw new Error('must be of P-256 (kty EC), X25519 (kty OKP) or a secret (kty oct)')
  if (use === 'open' && jwk.d === undefined)
    throw new Error('is a public key (it has no d), which cannot open anything')
  if (use === 'seal' && jwk.d !== undefined)
    throw new Error('is a private key, which workers alone need: give its public one (busgate keys public)')
  return read('ECDH-ES', crv, () => (use === 'open' ? privateKeyOf(jwk) : publicKeyOf(jwk)))
}

const publicKeyOf = ({ d, ...jwk }: Jwk): KeyObject => createPublicKey({ key: jwk, format: 'jwk' })

/** A private key that opens what its own public part seals: Node does not look whether they belong together. */
function privateKeyOf(jwk: Jwk): KeyObject {
  const own = createPrivateKey({ key: jwk, format: 'jwk' })
  const other = jwk.kty === 'EC' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('x25519')
  const opened = diffieHellman({ privateKey: own, publicKey: other.publicKey })
  const sealed = diffieHellman({ privateKey: other.privateKey, publicKey: publicKeyOf(jwk) })
  if (!opened.equals(sealed)) throw new Error()
  return own
}

function secretOf({ k }: Jwk): KeyObject {
  const bytes = Buffer.from(String(k), 'base64url')
  if (bytes.length !== secretBytes) throw new Error()
  return createSecretKey(bytes)
}

/** Node's own errors may hold parts of the key. */
function keyObject(make: () => KeyObject): KeyObject {
  try {
    return make()
  } catch {
    throw new Error('its parameters are no valid key; a secret (kty oct) has 32 bytes')
  }
}
