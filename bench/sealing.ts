import { generateKeyPairSync } from 'node:crypto'

const kid = 'bench'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** The worker's keys of sealed content: a JWK Set. */
export const sealingKeys = JSON.stringify({ keys: [{ kid, ...privateKey.export({ format: 'jwk' }) }] })

/** The key of producers. */
export const seal = { kid, ...publicKey.export({ format: 'jwk' }) }
