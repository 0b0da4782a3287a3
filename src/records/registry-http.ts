import { Agent, buildConnector, errors, request } from 'undici'
import { SchemaUnreadable } from './errors.ts'
import { loginHeaders, type RegistryLogin } from './registry-login.ts'

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
