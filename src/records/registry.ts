import { Agent, type AgentOptions } from 'node:https'
import type { Socket } from 'node:net'
import { SchemaRegistry as RegistryClient } from '@kafkajs/confluent-schema-registry'
import { RegistryUnavailable, SchemaNotFound, SchemaRefused, SchemaUnreadable } from './errors.ts'
import { type StoredSchema, selfContained } from './references.ts'
import { loginHeaders, loginSettings, type RegistryLogin } from './registry-login.ts'

export { RegistryUnavailable, SchemaNotFound, SchemaRefused, SchemaUnreadable } from './errors.ts'

/** SchemaRegistry is where the schemas of the bus live. Ids are for ever; asking again is always safe. */
export interface SchemaRegistry {
  /**
   * The schema with that id, self-contained.
   * @throws SchemaNotFound, SchemaUnreadable, RegistryUnavailable
   */
  schemaOf(id: number): Promise<object>
  /**
   * Registers the schema under the subject and answers its id; the same schema again has the same id.
   * The subject's compatibility is left as it is.
   * @throws SchemaRefused, RegistryUnavailable
   */
  idOf(subject: string, schema: object): Promise<number>
}

export interface ConfluentRegistryOptions extends RegistryLogin {
  /** Address of the registry, with the path of its Confluent-compatible interface if it has one. */
  url: string
  /** Longest wait for an answer. Default 5000. Nothing is asked twice: whoever needs the answer tries again. */
  timeoutMs?: number
}

/**
 * A schema registry that speaks Confluent's interface.
 * @throws Error when the address is none, or holds credentials.
 */
export function confluentRegistry({ url, timeoutMs = 5000, ...login }: ConfluentRegistryOptions): SchemaRegistry {
  const address = new URL(url)
  if (address.username !== '') {
    throw new Error('registry.url holds credentials: move them to registry.username and registry.password')
  }
  const registry = `The schema registry at ${address.host}`
  const client = new RegistryClient({
    host: url.replace(/\/+$/, ''),
    clientId: ourClientId,
    retry: { retries: 0 },
    ...(login.tls && address.protocol === 'https:' && { agent: agentOf(login.tls) }),
  })
  // The client's upper layer insists on managing the subject's compatibility, and answers compiled types instead of schemas.
  // biome-ignore lint/complexity/useLiteralKeys: the lower layer is private, by TypeScript only.
  const api = client['api']

  async function ask<T>(request: (common: Common) => Promise<{ data(): T }>): Promise<T> {
    // The signal ends the request; the race ends a wait for an answer that was cut off, which the client misses.
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await Promise.race([request({ signal, headers: loginHeaders(login) }), aborted(signal)])
    return response.data()
  }

  async function stored(request: (common: Common) => Promise<{ data(): StoredSchema }>): Promise<StoredSchema> {
    const answer = await ask(request)
    if (typeof answer?.schema !== 'string') throw new Error('the answer holds no schema')
    return answer
  }

  function unavailable(error: unknown): RegistryUnavailable {
    return new RegistryUnavailable(`${registry} ${complaint(error as RegistryError, timeoutMs, login)}`)
  }

  async function schemaOf(id: number): Promise<object> {
    try {
      return await selfContained(await stored(common => api.Schema.find({ id, ...common })), ({ subject, version }) =>
        stored(common => api.Subject.version({ subject, version, ...common })),
      )
    } catch (error) {
      if (error instanceof SchemaUnreadable) throw new SchemaUnreadable(`Schema ${id} cannot be read: ${error.message}`)
      if (!saysNotFound(error)) throw unavailable(error)
      throw new SchemaNotFound(
        `${registry} has no schema ${id}: is it the one that the record was written with, and registry.url complete?`,
      )
    }
  }

  async function idOf(subject: string, schema: object): Promise<number> {
    const body = { schema: JSON.stringify(schema) }
    for (let asked = 1; ; asked++) {
      try {
        const { id } = await ask<{ id?: number }>(common => api.Subject.register({ subject, body, ...common }))
        if (id === undefined) throw new Error('the answer holds no id')
        return id
      } catch (error) {
        const { status } = error as RegistryError
        if (status !== 409 && status !== 422) throw unavailable(error)
        if (asked === 1) continue // Apicurio refuses the second of two who register a new subject at the same time
        throw new SchemaRefused(
          `${registry} refuses the schema of subject ${subject} (${status}): ${textOf(error)}. It holds the schema of ` +
            'something else there, or of a newer busgate: set another topic, or use at least that version.',
        )
      }
    }
  }

  return { schemaOf, idOf }
}

/** A registry in memory, for the embedded bus. */
export function embeddedRegistry(): SchemaRegistry {
  const texts: string[] = []
  return {
    async schemaOf(id) {
      const text = texts[id - 1]
      if (text === undefined) throw new SchemaNotFound(`The embedded schema registry has no schema ${id}.`)
      return JSON.parse(text)
    },
    async idOf(_subject, schema) {
      const text = JSON.stringify(schema)
      return texts.indexOf(text) + 1 || texts.push(text)
    },
  }
}

/** Begins every message of the client's errors. */
const ourClientId = 'busgate'
/** How the client words an answer whose body has no message; a lost connection is one, with status 400. */
const noMessagePattern = /^Error, status \d+: /

/** Opens each connection with what is told then, and without what an earlier one left behind. */
function agentOf(tls: NonNullable<RegistryLogin['tls']>): Agent {
  const agent = new Agent({ maxCachedSessions: 0 })
  const open = agent.createConnection.bind(agent)
  agent.createConnection = (options: AgentOptions, done) => open({ ...options, ...tls() }, done) as Socket
  return agent
}

/** Options that each request has. */
interface Common {
  signal: AbortSignal
  headers: Record<string, string>
}

interface RegistryError extends Error {
  status?: number
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

function textOf(error: unknown): string {
  const text = (error as Error).message
  return text.startsWith(`${ourClientId} - `) ? text.slice(ourClientId.length + 3) : text
}

/** A 404 with a message. One without is not the registry's: a wrong path, or something in front of it. */
function saysNotFound(error: unknown): boolean {
  return (error as RegistryError).status === 404 && !noMessagePattern.test(textOf(error))
}

function complaint(error: RegistryError, timeoutMs: number, login: RegistryLogin): string {
  if (error.name === 'TimeoutError') return `did not answer within ${timeoutMs} ms.`
  if (error.status === 401 || error.status === 403) {
    return `refuses the credentials (${error.status}): check ${loginSettings(login)}.`
  }
  if (error.status === 404) return 'answers 404 where a registry answers: check registry.url, its path included.'
  return `could not be asked: ${textOf(error).replace(noMessagePattern, '')}.`
}
