import type { Secret } from './secret.ts'

interface TlsFiles {
  ca: Secret | undefined
  cert: Secret | undefined
  key: Secret | undefined
}

/** Whom a connection trusts, and who it says to be: each in PEM. */
export interface TlsTexts {
  /** True whatever NODE_TLS_REJECT_UNAUTHORIZED says: keys, passwords and texts go over every connection. */
  rejectUnauthorized: boolean
  ca?: string
  cert?: string
  key?: string
}

/** TLS to whomever Node trusts. */
export const verifiedTls: TlsTexts = { rejectUnauthorized: true }

/** Reads the files for a TLS connection that is opened now. */
export function tlsOf({ ca, cert, key }: TlsFiles): TlsTexts {
  return {
    ...verifiedTls,
    ...(ca && { ca: ca.reveal() }),
    ...(cert && key && { cert: cert.reveal(), key: key.reveal() }),
  }
}
