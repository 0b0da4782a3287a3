import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { keyThatSeals } from '../../src/config/index.ts'
import type { SendType } from '../../src/protocol/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { seal as sealWith } from '../../src/records/seal.ts'
import type { World } from './worker.ts'

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
  sealWith(command, type, keyThatSeals(key))

/** Keys, values and headers of every record on the topics, as text. Default: all topics of the world. */
export async function bytesOf({ bus, settings }: World, topics?: string[]): Promise<string> {
  const { commands, ...others } = settings.topics
  const texts: string[] = []
  const all = topics ?? [...commands, ...Object.values(others)]
  const reader = await bus.read(all, 'earliest', (_, records) => {
    for (const { key, value, headers } of records) texts.push([key, value, ...Object.entries(headers).flat()].join(' '))
  })
  await reader.caughtUp('behind open transactions')
  await reader.close()
  if (texts.length === 0) throw new Error('there are no records')
  return texts.join('\n')
}
