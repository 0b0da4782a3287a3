import type { Clock } from '../../clock.ts'
import { type Settings, tlsOf } from '../../config/index.ts'
import type { Sasl, Security } from './connecting.ts'
import { Tokens } from './tokens.ts'

/** Tells how the settings say to connect and to sign in. */
export function securityOf({ ssl, sasl }: Settings['kafka'], clock: Clock): Security {
  return { ssl: typeof ssl === 'boolean' ? ssl : () => tlsOf(ssl), sasl: sasl && saslOf(sasl, clock) }
}

function saslOf(sasl: NonNullable<Settings['kafka']['sasl']>, clock: Clock): Sasl {
  if (sasl.mechanism === 'oauthbearer') {
    const tokens = new Tokens(sasl, clock)
    return { mechanism: sasl.mechanism, token: () => tokens.get() }
  }
  const { mechanism, username, password } = sasl
  return { mechanism, username, password: () => password.reveal() }
}
