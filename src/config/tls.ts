import type { Secret } from './secret.ts'

interface TlsFiles {
  ca: Secret | undefined
  cert: Secret | undefined
  key: Secret | undefined
}

/** Whom a connection trusts, and who it says to be: each in PEM. */
export interface TlsTexts {
  ca?: string
  cert?: string
  key?: string
}

/** Reads the files for a TLS connection that is opened now. */
export function tlsOf({ ca, cert, key }: TlsFiles): TlsTexts {
  return {
    ...(ca && { ca: ca.reveal() }),
    ...(cert && key && { cert: cert.reveal(), key: key.reveal() }),
  }
}
