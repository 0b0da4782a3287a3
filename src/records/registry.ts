import { requireLoaded, type Settings, tlsOf } from '../config/index.ts'
import { sharedByCopies } from '../package.ts'
import type { ConfluentRegistryOptions } from './confluent-registry.ts'
import { SchemaNotFound } from './errors.ts'
import type { RegistryLogin } from './registry-http.ts'

/**
 * Schemas of the bus. Ids never change, and every call is idempotent. A registry of your own reports its errors as these
 * classes, or with their `code`: RegistryUnavailable is retried, SchemaNotFound and SchemaUnreadable make a record unreadable.
 */
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

/**
 * Names a schema registry that has Confluent's API. Its client is loaded at the first call.
 * @throws Error when the URL is invalid or contains credentials
 */
export function confluentRegistry(options: ConfluentRegistryOptions): SchemaRegistry {
  if (new URL(options.url).username !== '') {
    throw new Error('registry.url holds credentials: move them to registry.username and registry.password')
  }
  let client: Promise<SchemaRegistry> | null = null
  const loaded = () =>
    (client ??= import('./confluent-registry.ts').then(({ ConfluentRegistry }) => new ConfluentRegistry(options)))
  return {
    schemaOf: async id => (await loaded()).schemaOf(id),
    idOf: async (subject, schema) => (await loaded()).idOf(subject, schema),
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

/** The configured registry; the embedded one if none is configured. */
export function registryOf(settings: Settings): SchemaRegistry {
  requireLoaded(settings)
  const { url } = settings.registry
  return url === undefined
    ? sharedByCopies('embedded registry', embeddedRegistry)
    : confluentRegistry({ url, ...registryLogin(settings) })
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
