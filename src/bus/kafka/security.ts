import type { ConnectionOptions as TlsOptions } from 'node:tls'
import type { Clock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import type { Sasl, Security } from '../wire/connecting.ts'
import { Tokens } from './tokens.ts'

/** How the settings say to connect and to sign in. */
export function securityOf({ ssl, sasl }: Settings['kafka'], clock: Clock): Security {
  return { ssl: typeof ssl === 'boolean' ? ssl : () => tlsOf(ssl), sasl: sasl && saslOf(sasl, clock) }
}

/** For a connection of TLS that is opened now. */
export function tlsOf({ ca, cert, key }: Exclude<Settings['kafka']['ssl'], boolean>): TlsOptions {
  return {
    ...(ca && { ca: ca.reveal() }),
    ...(cert && key && { cert: cert.reveal(), key: key.reveal() }),
  }
}

function saslOf(sasl: NonNullable<Settings['kafka']['sasl']>, clock: Clock): Sasl {
  if (sasl.mechanism === 'oauthbearer') {
    const tokens = new Tokens(sasl, clock)
    return { mechanism: sasl.mechanism, token: () => tokens.get() }
  }
  const { mechanism, username, password } = sasl
  return { mechanism, username, password: () => password.reveal() }
}
