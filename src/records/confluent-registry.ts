import pLimit from 'p-limit'
import { RegistryUnavailable, SchemaNotFound, SchemaRefused, SchemaUnreadable } from './errors.ts'
import type { RegisteringError, registeringClient } from './registering.ts'
import {
  loginSettings,
  type RegistryAnswer,
  type RegistryLogin,
  type RegistryRequest,
  registryHttp,
} from './registry-http.ts'
import { type StoredSchema, selfContained } from './schema-parts.ts'

/** Address and login of a schema registry. */
export interface ConfluentRegistryOptions extends RegistryLogin {
  /** URL of the registry, with the path of its Confluent-compatible API if it has one. */
  url: string
  /** Request time-out in milliseconds. Default 5000. Requests are not retried. */
  timeoutMs?: number
}

/**
 * After this many requests in a row without an answer, while others were answered, a schema counts as refused: its answer may
 * be too slow, or break whatever stands in front of the registry. A single one may hit a replica that stops.
 */
const mostSilences = 10

/** The schemas whose silences are counted. */
const mostRemembered = 10_000

/** Bound of concurrent requests, since foreign bytes can name any number of schemas. */
const mostRequests = 16

/** Status that the registry's client reports for a lost connection. */
const unanswered = 400

/** The registry answered, but not with what it was asked for. */
class Refused extends Error {}

/** The client of a schema registry that has Confluent's API. */
export class ConfluentRegistry {
  readonly schemaOf = queued(id => this.#schemaOf(id))
  readonly #login: RegistryLogin
  readonly #timeoutMs: number
  readonly #url: string
  readonly #host: string
  #register: Promise<ReturnType<typeof registeringClient>> | null = null
  readonly #http: ReturnType<typeof registryHttp>
  /** A schema that the registry surely has, to tell a registry that refuses one from one that answers for none. */
  #known: number | null = null
  #askingForKnown: Promise<boolean> | null = null
  readonly #silences = new Silences()

  constructor({ url, timeoutMs = 5000, ...login }: ConfluentRegistryOptions) {
    this.#login = login
    this.#timeoutMs = timeoutMs
    this.#url = url
    this.#host = new URL(url).host
    this.#http = registryHttp({ url, connections: mostRequests, ...login })
  }

  async idOf(subject: string, schema: object): Promise<number> {
    const register = await this.#registering()
    for (let asked = 1; ; asked++) {
      try {
        const id = await register(subject, schema)
        if (typeof id !== 'number') throw new Error('the answer has no id')
        this.#known ??= id
        return id
      } catch (error) {
        const { status, message } = error as RegisteringError
        if (status === undefined || !refusals.includes(status)) throw this.#notRegistered(error as RegisteringError)
        if (asked === 1) continue // Apicurio refuses one of two clients that register a new subject at the same time
        throw new SchemaRefused(
          `${this.#name} refuses the schema of subject ${subject} (${status}): ${message}. Another program ` +
            'or a newer busgate has registered an incompatible schema: use another topic, or upgrade busgate.',
        )
      }
    }
  }

  /** Loads the registry's client, which only writers need. */
  #registering(): Promise<ReturnType<typeof registeringClient>> {
    const options = { url: this.#url, timeoutMs: this.#timeoutMs, ...this.#login }
    this.#register ??= import('./registering.ts').then(({ registeringClient }) => registeringClient(options))
    return this.#register
  }

  #notRegistered(error: RegisteringError): RegistryUnavailable {
    const { status, message } = error
    if (status === undefined || status === unanswered) return this.#unavailable(complaint(error, this.#timeoutMs))
    return this.#unavailable(complaintOf({ status, body: { message } }, this.#login))
  }

  /** @throws SchemaNotFound if the registry refuses this schema but answers for others; RegistryUnavailable if for none */
  async #schemaOf(id: number): Promise<object> {
    const signal = this.#timeout()
    try {
      const schema = await readSchema(id, path => this.#stored(path, id, signal))
      this.#known ??= id
      this.#silences.end(id)
      return schema
    } catch (error) {
      const isRefused = error instanceof Refused
      if (!isRefused && !(error instanceof RegistryUnavailable)) throw error
      const outage = isRefused ? this.#unavailable(error.message) : error
      const isPartial = await this.#answersForKnown()
      if (!isPartial) this.#silences.endAll()
      if (!isPartial || !(isRefused || this.#silences.isLong(id))) throw outage
      throw new SchemaNotFound(`${outage.message} It answers for other schemas, but not for ${id}.`)
    }
  }

  /** Whether the registry returns the known schema now. Calls at the same time share an answer. */
  #answersForKnown(): Promise<boolean> {
    const id = this.#known
    if (id === null) return Promise.resolve(false)
    const asked = () => this.#stored(`/schemas/ids/${id}`, id, this.#timeout())
    this.#askingForKnown ??= asked().then(
      () => true,
      () => false,
    )
    return this.#askingForKnown.finally(() => {
      this.#askingForKnown = null
    })
  }

  /** Reads what the registry stores at a path. @param id the schema that needs it */
  async #stored(path: string, id: number, signal: AbortSignal): Promise<StoredSchema> {
    const answer = await this.#ask<StoredSchema>(path, { signal })
    const { status, body } = answer
    if (status === 200 && typeof body?.schema === 'string') return body
    if (status !== 404 || !notFoundCodes.includes(body?.error_code)) {
      throw new Refused(complaintOf(answer, this.#login))
    }
    throw new SchemaNotFound(
      `${this.#name} has no schema ${id}: check that ${urlSetting} is complete and leads to the registry of the producer`,
    )
  }

  /** @throws SchemaUnreadable if the answer is too long; RegistryUnavailable if none comes */
  async #ask<T>(path: string, request: RegistryRequest): Promise<RegistryAnswer<T>> {
    try {
      return await this.#http<T>(path, request)
    } catch (error) {
      throw error instanceof SchemaUnreadable ? error : this.#unavailable(complaint(error as Error, this.#timeoutMs))
    }
  }

  #timeout(): AbortSignal {
    return AbortSignal.timeout(this.#timeoutMs)
  }

  get #name(): string {
    return `The schema registry at ${this.#host}`
  }

  #unavailable(why: string): RegistryUnavailable {
    return new RegistryUnavailable(`${why.includes(this.#host) ? 'The schema registry' : this.#name} ${why}`)
  }
}

/** Counts, by schema, the requests in a row that the registry did not answer while it answered for another schema. */
class Silences {
  readonly #counts = new Map<number, number>()

  /** Counts one more. @returns whether the schema counts as refused */
  isLong(id: number): boolean {
    const count = (this.#counts.get(id) ?? 0) + 1
    if (this.#counts.size >= mostRemembered) this.#counts.clear()
    this.#counts.set(id, count)
    return count >= mostSilences
  }

  end(id: number): void {
    this.#counts.delete(id)
  }

  endAll(): void {
    this.#counts.clear()
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
    if ([Refused, RegistryUnavailable, SchemaNotFound].some(known => error instanceof known)) throw error
    const why = error instanceof SchemaUnreadable ? error.message : "the registry's answer about it is malformed"
    throw new SchemaUnreadable(`Schema ${id} cannot be read: ${why}.`)
  }
}

/** Statuses of an incompatible or invalid schema. */
const refusals = [409, 422]

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

const textOf = ({ status, body }: RegistryAnswer<unknown>): string =>
  typeof body?.message === 'string' ? body.message : `status ${status}`

function complaintOf(answer: RegistryAnswer<unknown>, login: RegistryLogin): string {
  const { status } = answer
  if (status === 401 || status === 403) return `refuses the credentials (${status}): check ${loginSettings(login)}.`
  if (status === 404) return `answers 404: check ${urlSetting}, its path included.`
  if (status === 200) return 'sent an answer without a schema or its id.'
  return `answered with an error: ${textOf(answer)}. Check ${urlSetting}.`
}
