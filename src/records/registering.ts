import { Agent as HttpAgent } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { verifiedTls } from '../config/index.ts'
import { loginHeaders, type RegistryLogin } from './registry-http.ts'

/** What a registry answers in place of an id, or what is wrong on the way to it. */
export interface RegisteringError extends Error {
  /** Of HTTP, where the registry has answered. */
  status?: number
}

/**
 * Registers busgate's own schemas through the registry's client. Foreign ones are read without it (registry-http.ts): it
 * bounds neither the bytes nor the references of an answer.
 * @returns a function that registers a schema, leaves the subject's compatibility as it is, and throws RegisteringError
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
      const level = ofSubject(error as Error)
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

/** Begins the messages of the client's errors. */
const clientId = 'busgate'

/** The client registers only with the level that the subject has, and names it where it is another one. */
function ofSubject({ name, message }: Error): COMPATIBILITY | null {
  if (name !== 'ConfluentSchemaRegistryCompatibilityError') return null
  return (message.match(/!= (\w+)\)/)?.[1] ?? null) as COMPATIBILITY | null
}

/** The registry's own words, or the system's, without what the client puts before them. */
function withoutPrefix(error: Error): Error {
  return Object.assign(error, { message: error.message.replace(prefix, '') })
}

const prefix = new RegExp(`^${clientId} - (Error, status \\d+: )?`)

/** Connections for one request each, opened with what is told then, which end when nothing has come for the time-out. */
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
