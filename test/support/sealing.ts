import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { keyThatSeals } from '../../src/config/index.ts'
import type { SendType } from '../../src/protocol/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { sealed } from '../../src/records/sealed.ts'

export type Jwk = Record<string, unknown>

/** A key of sealed content: its private part for the worker, its public part for producers. */
export function sealingKey(kid: string, kind: 'P-256' | 'X25519' | 'secret' = 'X25519'): { own: Jwk; shared: Jwk } {
  if (kind === 'secret') {
    const secret = { kid, kty: 'oct', k: randomBytes(32).toString('base64url') }
    return { own: secret, shared: secret }
  }
  const { privateKey, publicKey } =
    kind === 'P-256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('x25519')
  return {
    own: { kid, ...privateKey.export({ format: 'jwk' }) },
    shared: { kid, ...publicKey.export({ format: 'jwk' }) },
  }
}

export const keySet = (...keys: Jwk[]): string => JSON.stringify({ keys })

/** The same command, its content sealed. */
export const seal = (command: SendCommand, key: Jwk, type: SendType = 'sms'): Promise<SendCommand> =>
  sealed(command, type, keyThatSeals(key))
