import { isIP } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { type Connection, type ConnectionOptions, SASLMechanisms } from '@platformatic/kafka'
import type { Clock } from '../../clock.ts'
import { type Settings, tlsOf, verifiedTls } from '../../config/index.ts'
import { Tokens } from './tokens.ts'

/**
 * Sasl says how to sign in. What is secret is asked for at each connection, and again when a session is about to end.
 */
export type Sasl =
  | { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: () => string }
  | { mechanism: 'oauthbearer'; token: () => Promise<string> }

export interface Address {
  host: string
  port: number
}

/** Connect says how a connection is opened; in the hands of tests that cut the wire. */
export type Connect = (connection: Connection, address: Address) => Promise<void>

export interface Security {
  /** True: whom Node trusts. What else is said is asked for at each connection: certificates are renewed. */
  ssl?: boolean | (() => TlsOptions) | undefined
  sasl?: Sasl | undefined
}

/** The limit for TCP, TLS and signing in together, and again for asking what the broker speaks. */
export const connectLimitMs = 3000
/** The library ends a connection when a request takes longer, whatever else is on it: our own limits come first. */
const longestRequestMs = 3_600_000
/** Requests that the library sends while others wait for their answers; it would hold back the rest without a limit. */
const mostInFlight = 100_000

/** Options of the library for one connection. */
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
    return { mechanism: SASLMechanisms.OAUTHBEARER, token: sasl.token, authBytesValidator: withoutRefusal }
  }
  const { mechanism, username, password } = sasl
  const named = { plain: 'PLAIN', 'scram-sha-256': 'SCRAM_SHA_256', 'scram-sha-512': 'SCRAM_SHA_512' } as const
  return { mechanism: SASLMechanisms[named[mechanism]], username, password }
}

/** A broker that refuses a token says so in an answer without an error, and ends the connection at the next request. */
function withoutRefusal(answer: Buffer, done: (error: Error | null, answer?: Buffer) => void): void {
  if (answer.length === 0) done(null, answer)
  else done(new Error(`the broker refuses the token (${statusIn(answer)})`))
}

function statusIn(answer: Buffer): string {
  try {
    return String((JSON.parse(answer.toString()) as { status?: unknown }).status)
  } catch {
    return 'it does not say why'
  }
}

/** Tells how the settings say to connect and to sign in. */
export function securityOf({ ssl, sasl }: Settings['kafka'], clock: Clock): Security {
  return { ssl: typeof ssl === 'boolean' ? ssl : () => tlsOf(ssl), sasl: sasl && signInOf(sasl, clock) }
}

function signInOf(sasl: NonNullable<Settings['kafka']['sasl']>, clock: Clock): Sasl {
  if (sasl.mechanism === 'oauthbearer') {
    const tokens = new Tokens(sasl, clock)
    return { mechanism: sasl.mechanism, token: () => tokens.get() }
  }
  const { mechanism, username, password } = sasl
  return { mechanism, username, password: () => password.reveal() }
}

/** `host:port`, with brackets around an IPv6 address. */
export function addressOf(place: string): Address {
  const colon = place.lastIndexOf(':')
  return { host: place.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(place.slice(colon + 1)) }
}
