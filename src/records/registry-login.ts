import type { TlsTexts } from '../config/index.ts'

/** Text, or what tells it as it is now. */
export type Current = string | (() => string)

/**
 * RegistryLogin says how to sign in at a registry: with user and password, a bearer token, or a certificate in `tls`.
 */
export interface RegistryLogin {
  username?: string
  /** A function is asked at each request, so that it may change. */
  password?: Current
  /** A bearer token, in place of user and password. */
  token?: Current
  /** Whom to trust, and who this is; asked at each connection. */
  tls?: () => TlsTexts
}

/** The headers of a request that is made now. */
export function loginHeaders({ username, password = '', token }: RegistryLogin): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${currentText(token)}` }
  if (username === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`${username}:${currentText(password)}`).toString('base64')}` }
}

/** Names the settings to look at when the login is refused. */
export function loginSettings({ token }: RegistryLogin): string {
  return token === undefined ? 'registry.username and registry.password' : 'registry.token'
}

function currentText(text: Current): string {
  return typeof text === 'string' ? text : text()
}
