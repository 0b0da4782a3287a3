import { Agent, buildConnector, errors, request } from 'undici'
import type { TlsTexts } from '../config/index.ts'
import { SchemaUnreadable } from './errors.ts'

/** Parsing it takes some 40 ms at most. A schema within busgate's limits is shorter. */
const longestAnswer = 1 << 19

export interface RegistryAnswer<T> {
  status: number
  /** null if the body is not JSON. An error has `error_code` and `message`. */
  body: (T & { error_code?: unknown; message?: unknown }) | null
}

export interface RegistryRequest {
  method?: 'GET' | 'POST' | 'PUT'
  json?: object
  signal: AbortSignal
}

/**
 * Connections to a registry; each reads `login.tls` when it opens. Redirects are not followed.
 * @returns a function that sends a request; it throws SchemaUnreadable when the answer is too long, Error when there is none
 */
export function registryHttp({ url, connections, ...login }: RegistryLogin & { url: string; connections: number }) {
  const dispatcher = new Agent({
    connections,
    pipelining: 1,
    allowH2: false,
    maxResponseSize: longestAnswer,
    connect: (options, done) => {
      const tls = { ...login.tls?.(), rejectUnauthorized: true, maxCachedSessions: 0 }
      buildConnector({ ...tls, allowH2: false })(options, done)
    },
  })
  const base = url.replace(/\/+$/, '')

  return async <T>(path: string, { method = 'GET', json, signal }: RegistryRequest): Promise<RegistryAnswer<T>> => {
    const { statusCode, body } = await request(`${base}${path}`, {
      method,
      headers: { accept: mediaTypes, ...(json && { 'content-type': contentType }), ...loginHeaders(login) },
      ...(json && { body: JSON.stringify(json) }),
      dispatcher,
      signal,
    })
    try {
      return { status: statusCode, body: jsonOf(await body.text()) }
    } catch (error) {
      if (!(error instanceof errors.ResponseExceededMaxSizeError)) throw error
      throw new SchemaUnreadable(`the registry's answer is longer than ${longestAnswer} bytes`)
    }
  }
}

const contentType = 'application/vnd.schemaregistry.v1+json'
const mediaTypes = `${contentType}, application/json`

function jsonOf<T>(text: string): T | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** A text, or a function that returns its current value. */
export type Current = string | (() => string)

/** Credentials for a registry: user and password, a bearer token, or a client certificate in `tls`. */
export interface RegistryLogin {
  /** User name. Default: no login. */
  username?: string
  /** Password; a function is called for each request, so it may change. Default: none. */
  password?: Current
  /** Bearer token, used instead of user and password; a function is called for each request. Default: none. */
  token?: Current
  /** Trusted CAs and the client certificate, as PEM texts; called for each connection. Default: those of Node.js. */
  tls?: () => TlsTexts
}

/** The headers of a request, with the current credentials. */
export function loginHeaders({ username, password = '', token }: RegistryLogin): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${currentText(token)}` }
  if (username === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`${username}:${currentText(password)}`).toString('base64')}` }
}

/** The settings to check when the registry refuses the credentials. */
export function loginSettings({ token }: RegistryLogin): string {
  return token === undefined ? 'registry.username and registry.password' : 'registry.token'
}

function currentText(text: Current): string {
  return typeof text === 'string' ? text : text()
}
