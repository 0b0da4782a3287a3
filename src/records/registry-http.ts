import { Agent, buildConnector, errors, request } from 'undici'
import type { TlsTexts } from '../config/index.ts'
import { SchemaUnreadable } from './schema-parts.ts'

/** Confluent Cloud takes schemas of 1 MB at most. */
const longestAnswer = 2 << 20

export interface RegistryAnswer<T> {
  status: number
  /** null: the body is no JSON. */
  body: (T & RegistryComplaint) | null
}

/** RegistryComplaint is what a registry answers in place of what it was asked for. */
interface RegistryComplaint {
  error_code?: unknown
  message?: unknown
}

export interface RegistryRequest {
  method?: 'GET' | 'POST' | 'PUT'
  json?: object
  signal: AbortSignal
}

/** Asks one registry. Redirects are not followed. */
export type AskRegistry = <T>(path: string, asked: RegistryRequest) => Promise<RegistryAnswer<T>>

/**
 * Connections to a registry. Each is opened with what `login.tls` tells then.
 * @returns a function that throws SchemaUnreadable when the answer is too long; Error when there is none
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

  const ask: AskRegistry = async (path, { method = 'GET', json, signal }) => {
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
  return ask
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
