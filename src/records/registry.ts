import pLimit from 'p-limit'
import { type Settings, tlsOf } from '../config/index.ts'
import { type RegisteringError, registeringClient } from './registering.ts'
import { loginSettings, type RegistryLogin, registryHttp } from './registry-http.ts'
import { SchemaUnreadable, type StoredSchema, selfContained } from './schema-parts.ts'

export { SchemaUnreadable } from './schema-parts.ts'

/** The registry has no schema with that id, or refuses it for good: it answers for others. */
export class SchemaNotFound extends Error {
  override readonly name = 'SchemaNotFound'
}

/** The registry refuses to register the schema. */
export class SchemaRefused extends Error {
  override readonly name = 'SchemaRefused'
}

/** The registry does not answer, or answers with an error. Retry. */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable'
}

/** The registry answered, but not with the schema. */
class Refused extends RegistryUnavailable {}

/** Schemas of the bus. Ids never change, and every call is idempotent. */
export interface SchemaRegistry {
  /**
   * The schema with that id, with its references resolved.
   * @throws SchemaNotFound, SchemaUnreadable, RegistryUnavailable
   */
  schemaOf(id: number): Promise<object>
  /**
   * Registers the schema under the subject and returns its id; the same schema gets the same id. Leaves the subject's
   * compatibility level unchanged.
   * @throws SchemaRefused, RegistryUnavailable
   */
  idOf(subject: string, schema: object): Promise<number>
}

/** Address and login of a schema registry. */
export interface ConfluentRegistryOptions extends RegistryLogin {
  /** URL of the registry, with the path of its Confluent-compatible API if it has one. */
  url: string
  /** Request time-out in milliseconds. Default 5000. Requests are not retried. */
  timeoutMs?: number
}

/** Status that the client reports for a lost connection. */
const unanswered = 400

/** Bound of concurrent requests, since foreign bytes can name any number of schemas. */
const mostRequests = 16

/**
 * Connects to a schema registry that has Confluent's API.
 * @throws Error when the URL is invalid or contains credentials
 */
export function confluentRegistry({ url, timeoutMs = 5000, ...login }: ConfluentRegistryOptions): SchemaRegistry {
  const { host, username } = new URL(url)
  if (username !== '') {
    throw new Error('registry.url holds credentials: move them to registry.username and registry.password')
  }
  const name = `The schema registry at ${host}`
  const http = registryHttp({ url, connections: mostRequests, ...login })
  const register = registeringClient({ url, timeoutMs, ...login })

  const unavailable = (why: string) =>
    new RegistryUnavailable(`${why.includes(host) ? 'The schema registry' : name} ${why}`)

  /** Reads what the registry stores at a path. @param id the schema that needs it */
  async function stored(path: string, id: number, signal: AbortSignal): Promise<StoredSchema> {
    const { status, body } = await http<StoredSchema>(path, { signal }).catch(error => {
      throw error instanceof SchemaUnreadable ? error : unavailable(complaint(error, timeoutMs))
    })
    if (status === 200 && typeof body?.schema === 'string') return body
    if (status !== 404 || !notFoundCodes.includes(body?.error_code)) {
      const text = typeof body?.message === 'string' ? body.message : `status ${status}`
      throw new Refused(unavailable(complaintOf(status, text, login)).message)
    }
    throw new SchemaNotFound(
      `${name} has no schema ${id}: check that ${urlSetting} is complete and leads to the registry of the producer`,
    )
  }

  function notRegistered(error: RegisteringError): RegistryUnavailable {
    const { status, message } = error
    const isAnswer = status !== undefined && status !== unanswered
    return unavailable(isAnswer ? complaintOf(status, message, login) : complaint(error, timeoutMs))
  }

  const others = knownSchema(id =>
    stored(`/schemas/ids/${id}`, id, AbortSignal.timeout(timeoutMs)).then(
      () => true,
      () => false,
    ),
  )

  /** @throws SchemaNotFound if the registry refuses this schema but answers for others; RegistryUnavailable if for none */
  async function schemaOf(id: number): Promise<object> {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const schema = await readSchema(id, path => stored(path, id, signal))
      others.learn(id)
      return schema
    } catch (error) {
      if (!(error instanceof Refused && (await others.isReturned()))) throw error
      throw new SchemaNotFound(`${error.message} It answers for other schemas, but not for ${id}.`)
    }
  }

  return { schemaOf: queued(schemaOf), idOf: registerer(register, name, { learned: others.learn, notRegistered }) }
}

/**
 * A schema that the registry surely has, to tell a registry that refuses one schema from one that answers for none.
 * @param returns asks the registry for it
 */
function knownSchema(returns: (id: number) => Promise<boolean>) {
  let known: number | null = null
  let asking: Promise<boolean> | null = null
  return {
    learn(id: number): void {
      known ??= id
    },
    /** Whether the registry returns it now. Calls at the same time share an answer. */
    isReturned(): Promise<boolean> {
      if (known === null) return Promise.resolve(false)
      asking ??= returns(known).finally(() => {
        asking = null
      })
      return asking
    },
  }
}

interface Registering {
  learned: (id: number) => void
  notRegistered: (error: RegisteringError) => RegistryUnavailable
}

/** @param name the registry, as errors call it */
function registerer(
  register: ReturnType<typeof registeringClient>,
  name: string,
  { learned, notRegistered }: Registering,
): SchemaRegistry['idOf'] {
  return async (subject, schema) => {
    for (let asked = 1; ; asked++) {
      try {
        const id = await register(subject, schema)
        if (id === undefined) throw new Error('the answer has no id')
        learned(id)
        return id
      } catch (error) {
        const { status, message } = error as RegisteringError
        if (status !== 409 && status !== 422) throw notRegistered(error as RegisteringError)
        if (asked === 1) continue // Apicurio refuses one of two clients that register a new subject at the same time
        throw new SchemaRefused(
          `${name} refuses the schema of subject ${subject} (${status}): ${message}. Another program ` +
            'or a newer busgate has registered an incompatible schema: use another topic, or upgrade busgate.',
        )
      }
    }
  }
}

/** Queues requests. Those that queue while the registry becomes unavailable fail at once with its error. */
function queued(schemaOf: (id: number) => Promise<object>): (id: number) => Promise<object> {
  const slots = pLimit(mostRequests)
  let outage: RegistryUnavailable | null = null
  return id => {
    const before = outage
    return slots(async () => {
      if (outage && outage !== before) throw outage
      try {
        return await schemaOf(id)
      } catch (error) {
        if (error instanceof RegistryUnavailable) outage = error
        throw error
      }
    })
  }
}

async function readSchema(id: number, stored: (path: string) => Promise<StoredSchema>): Promise<object> {
  try {
    return await selfContained(await stored(`/schemas/ids/${id}`), ({ subject, version }) =>
      stored(`/subjects/${encodeURIComponent(subject)}/versions/${encodeURIComponent(version)}`),
    )
  } catch (error) {
    if (error instanceof RegistryUnavailable || error instanceof SchemaNotFound) throw error
    const why = error instanceof SchemaUnreadable ? error.message : "the registry's answer about it is malformed"
    throw new SchemaUnreadable(`Schema ${id} cannot be read: ${why}.`)
  }
}

/** In-memory registry for the embedded bus. */
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

/**
 * Codes by which the registry itself says that a schema does not exist: Confluent, Apicurio, Karapace and Redpanda. Any other
 * 404 means a wrong path or a proxy.
 */
const notFoundCodes: unknown[] = [40401, 40402, 40403]

const urlSetting = 'registry.url (BUSGATE_REGISTRY_URL)'

function complaint(error: Error, timeoutMs: number): string {
  return error.name === 'TimeoutError'
    ? `did not answer within ${timeoutMs} ms. Check ${urlSetting}.`
    : `did not answer: ${error.message}. Check ${urlSetting}.`
}

function complaintOf(status: number, text: string, login: RegistryLogin): string {
  if (status === 401 || status === 403) return `refuses the credentials (${status}): check ${loginSettings(login)}.`
  if (status === 404) return `answers 404: check ${urlSetting}, its path included.`
  return status === 200 ? 'sent an answer without a schema.' : `answered with an error: ${text}. Check ${urlSetting}.`
}

/** One registry per process, like the embedded bus. */
const embedded = embeddedRegistry()

/** The configured registry; the embedded one if none is configured. */
export function registryOf(settings: Settings): SchemaRegistry {
  const { url } = settings.registry
  return url === undefined ? embedded : confluentRegistry({ url, ...registryLogin(settings) })
}

/** The configured credentials for the registry. */
export function registryLogin({ registry }: Settings): RegistryLogin {
  const { username, password, token, ssl } = registry
  return {
    ...(username && { username }),
    ...(password && { password: () => password.reveal() }),
    ...(token && { token: () => token.reveal() }),
    tls: () => tlsOf(ssl),
  }
}
