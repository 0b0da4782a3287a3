import type { Settings } from '../../config/index.ts'
import type { Sasl, Security } from '../wire/connecting.ts'

/** How the settings say to connect and to sign in. */
export function securityOf({ ssl, sasl }: Settings['kafka']): Security {
  return { ssl, sasl: sasl && saslOf(sasl) }
}

function saslOf({ mechanism, username, password }: NonNullable<Settings['kafka']['sasl']>): Sasl {
  return { mechanism, username, password: () => password.reveal() }
}
