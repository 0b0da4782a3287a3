import pLimit from 'p-limit'
import { type Settings, tlsOf } from '../config/index.ts'
import { type RegisteringError, registeringClient } from './registering.ts'
import {
  loginSettings,
  type RegistryAnswer,
  type RegistryLogin,
  type RegistryRequest,
  registryHttp,
} from './registry-http.ts'
import { SchemaUnreadable, type StoredSchema, selfContained } from './schema-parts.ts'

export { SchemaUnreadable } from './schema-parts.ts'

/** The registry has no schema with that id. */
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
export const confluentRegistry = (options: ConfluentRegistryOptions): SchemaRegistry => new ConfluentRegistry(options)

class ConfluentRegistry implements SchemaRegistry {
  readonly #host: string
  readonly #login: RegistryLogin
  readonly #timeoutMs: number
  readonly #http: ReturnType<typeof registryHttp>
  readonly #register: ReturnType<typeof registeringClient>
  readonly #slots = pLimit(mostRequests)
  /** Number of failed requests, and the last error. */
  #outages: { count: number; last: RegistryUnavailable | null } = { count: 0, last: null }

  constructor({ url, timeoutMs = 5000, ...login }: ConfluentRegistryOptions) {
    const address = new URL(url)
    if (address.username !== '') {
      throw new Error('registry.url holds credentials: move them to registry.username and registry.password')
    }
    this.#host = address.host
    this.#login = login
    this.#timeoutMs = timeoutMs
    this.#http = registryHttp({ url, connections: mostRequests, ...login })
    this.#register = registeringClient({ url, timeoutMs, ...login })
  }

  /** Requests that queue while the registry becomes unavailable fail at once with its error. */
  schemaOf(id: number): Promise<object> {
    const { count } = this.#outages
    return this.#slots(async () => {
      const { count: now, last } = this.#outages
      if (now !== count && last) throw last
      try {
        return await this.#read(id)
      } catch (error) {
        if (error instanceof RegistryUnavailable) this.#outages = { count: this.#outages.count + 1, last: error }
        throw error
      }
    })
  }

  async idOf(subject: string, schema: object): Promise<number> {
    for (let asked = 1; ; asked++) {
      try {
        const id = await this.#register(subject, schema)
        if (id === undefined) throw new Error('the answer has no id')
        return id
      } catch (error) {
        const { status, message } = error as RegisteringError
        if (status !== 409 && status !== 422) throw this.#notRegistered(error as RegisteringError)
        if (asked === 1) continue // Apicurio refuses one of two clients that register a new subject at the same time
        throw new SchemaRefused(
          `${this.#name} refuses the schema of subject ${subject} (${status}): ${message}. Another program ` +
            'or a newer busgate has registered an incompatible schema: use another topic, or upgrade busgate.',
        )
      }
    }
  }

  async #read(id: number): Promise<object> {
    const signal = AbortSignal.timeout(this.#timeoutMs)
    try {
      return await selfContained(await this.#stored(`/schemas/ids/${id}`, signal), ({ subject, version }) =>
        this.#stored(`/subjects/${encodeURIComponent(subject)}/versions/${encodeURIComponent(version)}`, signal),
      )
    } catch (error) {
      if (error instanceof SchemaUnreadable)
        throw new SchemaUnreadable(`Schema ${id} cannot be read: ${error.message}.`)
      if (!(error instanceof RegistryRefusal)) throw error
      if (!error.saysNotFound) throw this.#unavailable(complaintOf(error.status, error.text, this.#login))
      throw new SchemaNotFound(
        `${this.#name} has no schema ${id}: check that ${urlSetting} is complete and leads to the registry of the producer`,
      )
    }
  }

  async #stored(path: string, signal: AbortSignal): Promise<StoredSchema> {
    const answer = await this.#ask<StoredSchema>(path, { signal })
    if (typeof answer.schema !== 'string') throw this.#unavailable('sent an answer without a schema.')
    return answer
  }

  async #ask<T>(path: string, asked: RegistryRequest): Promise<T> {
    let answer: RegistryAnswer<T>
    try {
      answer = await this.#http<T>(path, asked)
    } catch (error) {
      if (error instanceof SchemaUnreadable) throw error
      throw this.#unavailable(complaint(error as Error, this.#timeoutMs))
    }
    const { status, body } = answer
    if (status === 200 && body !== null) return body
    throw new RegistryRefusal(status, body)
  }

  #notRegistered(error: RegisteringError): RegistryUnavailable {
    const { status, message } = error
    const isAnswer = status !== undefined && status !== unanswered
    return this.#unavailable(isAnswer ? complaintOf(status, message, this.#login) : complaint(error, this.#timeoutMs))
  }

  #unavailable(why: string): RegistryUnavailable {
    return new RegistryUnavailable(`${why.includes(this.#host) ? 'The schema registry' : this.#name} ${why}`)
  }

  get #name(): string {
    return `The schema registry at ${this.#host}`
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

/** An error answer of the registry. */
class RegistryRefusal extends Error {
  readonly status: number
  readonly text: string
  readonly #code: unknown

  constructor(status: number, body: RegistryAnswer<unknown>['body']) {
    super(`status ${status}`)
    this.status = status
    this.text = typeof body?.message === 'string' ? body.message : `status ${status}`
    this.#code = body?.error_code
  }

  /**
   * Whether the registry itself reports that the schema does not exist, as Confluent, Apicurio, Karapace and Redpanda do. Any
   * other 404 means a wrong path or a proxy.
   */
  get saysNotFound(): boolean {
    return this.status === 404 && notFoundCodes.includes(this.#code)
  }
}

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
