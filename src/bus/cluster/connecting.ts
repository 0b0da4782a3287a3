import { isIP } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { type Connection, type ConnectionOptions, SASLMechanisms } from '@platformatic/kafka'
import type { Clock } from '../../clock.ts'
import { type Settings, tlsOf, verifiedTls } from '../../config/index.ts'
import { Tokens } from './tokens.ts'

/** Credentials. Secrets are read at each connection and re-authentication, because they change. */
export type Sasl =
  | { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: () => string }
  | { mechanism: 'oauthbearer'; token: () => Promise<string>; extensions?: Record<string, string> }

export interface Address {
  host: string
  port: number
}

/** Opens a connection. Tests that cut the wire replace it. */
export type Connect = (connection: Connection, address: Address) => Promise<void>

export interface Security {
  /** True: trust Node's CA certificates. Options are read at each connection, because certificates are renewed. */
  ssl?: boolean | (() => TlsOptions) | undefined
  sasl?: Sasl | undefined
}

/** Time-out for TCP, TLS and authentication together, and again for ApiVersions. */
export const connectLimitMs = 3000
/**
 * On a request's time-out, the library closes the connection with everything in flight on it; a high value leaves time-outs
 * to us.
 */
const longestRequestMs = 3_600_000
/** The library queues requests beyond this number; a high value prevents that. */
const mostInFlight = 100_000

export function optionsOf({ ssl, sasl }: Security, { host }: Address): ConnectionOptions {
  return {
    connectTimeout: connectLimitMs,
    requestTimeout: longestRequestMs,
    maxInflights: mostInFlight,
    ...(ssl && { tls: ssl === true ? verifiedTls : ssl(), tlsServerName: isIP(host) === 0 }),
    ...(sasl && { sasl: saslOf(sasl) }),
  }
}

function saslOf(sasl: Sasl): NonNullable<ConnectionOptions['sasl']> {
  if (sasl.mechanism === 'oauthbearer') {
    const { token, extensions: oauthBearerExtensions = {} } = sasl
    return { mechanism: SASLMechanisms.OAUTHBEARER, token, oauthBearerExtensions, authBytesValidator: withoutRefusal }
  }
  const { mechanism, username, password } = sasl
  const named = { plain: 'PLAIN', 'scram-sha-256': 'SCRAM_SHA_256', 'scram-sha-512': 'SCRAM_SHA_512' } as const
  return { mechanism: SASLMechanisms[named[mechanism]], username, password }
}

/** A broker refuses a token in an answer without an error code, and closes the connection at the next request. */
function withoutRefusal(answer: Buffer, done: (error: Error | null, answer?: Buffer) => void): void {
  if (answer.length === 0) done(null, answer)
  else done(new Error(`the broker refuses the token (${statusIn(answer)})`))
}

function statusIn(answer: Buffer): string {
  try {
    return String((JSON.parse(answer.toString()) as { status?: unknown }).status)
  } catch {
    return 'no reason given'
  }
}

export function securityOf({ ssl, sasl }: Settings['kafka'], clock: Clock): Security {
  return { ssl: typeof ssl === 'boolean' ? ssl : () => tlsOf(ssl), sasl: sasl && signInOf(sasl, clock) }
}

function signInOf(sasl: NonNullable<Settings['kafka']['sasl']>, clock: Clock): Sasl {
  if (sasl.mechanism === 'oauthbearer') {
    const tokens = new Tokens(sasl, clock)
    return { mechanism: sasl.mechanism, token: () => tokens.get(), extensions: sasl.extensions ?? {} }
  }
  const { mechanism, username, password } = sasl
  return { mechanism, username, password: () => password.reveal() }
}

/** Parses `host:port`; an IPv6 address stands in brackets. */
export function addressOf(place: string): Address {
  const colon = place.lastIndexOf(':')
  return { host: place.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(place.slice(colon + 1)) }
}
