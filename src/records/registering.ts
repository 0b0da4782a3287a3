import { Agent as HttpAgent } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { verifiedTls } from '../config/index.ts'
import { loginHeaders, type RegistryLogin } from './registry-http.ts'

/** A registry's error answer, or a failed connection. */
export interface RegisteringError extends Error {
  /** HTTP status, if the registry answered. */
  status?: number
}

/**
 * Registers busgate's schemas through the registry's client. Foreign schemas are read without it (registry-http.ts), because it
 * limits neither the size nor the references of an answer.
 * @returns a function that registers a schema and keeps the subject's compatibility level; throws RegisteringError
 */
export function registeringClient({ url, timeoutMs, ...login }: RegistryLogin & { url: string; timeoutMs: number }) {
  const client = new SchemaRegistry({
    host: url.replace(/\/+$/, ''),
    clientId,
    retry: { retries: 0 },
    agent: agentOf(url, timeoutMs, login),
    middlewares: [
      () => ({ prepareRequest: next => next().then(request => request.enhance({ headers: loginHeaders(login) })) }),
    ],
  })

  async function registered(subject: string, schema: string, compatibility: COMPATIBILITY): Promise<number> {
    const options = { subject, compatibility, updateConfig: false }
    try {
      return (await client.register({ type: SchemaType.AVRO, schema }, options)).id
    } catch (error) {
      const level = levelOfSubject(error as Error)
      if (level === null || level === compatibility) throw withoutPrefix(error as Error)
      return registered(subject, schema, level)
    }
  }

  return async (subject: string, schema: object): Promise<number> => {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new DOMException('it took too long', 'TimeoutError')), timeoutMs)
    try {
      return await Promise.race([registered(subject, JSON.stringify(schema), COMPATIBILITY.FULL_TRANSITIVE), promise])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Also the prefix of the client's error messages. */
const clientId = 'busgate'

/** The subject's compatibility level, from the client's error: it refuses to register with another one, and names both. */
function levelOfSubject({ name, message }: Error): COMPATIBILITY | null {
  if (name !== 'ConfluentSchemaRegistryCompatibilityError') return null
  return (message.match(/!= (\w+)\)/)?.[1] ?? null) as COMPATIBILITY | null
}

/** Removes the client's prefix from the message of the registry or the system. */
function withoutPrefix(error: Error): Error {
  return Object.assign(error, { message: error.message.replace(prefix, '') })
}

const prefix = new RegExp(`^${clientId} - (Error, status \\d+: )?`)

/** One connection per request, opened with the current TLS settings and closed after the time-out without data. */
function agentOf(url: string, timeoutMs: number, { tls }: Pick<RegistryLogin, 'tls'>): HttpAgent {
  const isTls = url.startsWith('https:')
  const agent = isTls ? new HttpsAgent({ maxCachedSessions: 0 }) : new HttpAgent()
  const open = agent.createConnection.bind(agent)
  agent.createConnection = (options: AgentOptions, done) => {
    const socket = open({ ...options, ...(isTls && (tls?.() ?? verifiedTls)) }, done) as Socket
    return socket.setTimeout(timeoutMs, () => socket.destroy())
  }
  return agent
}
