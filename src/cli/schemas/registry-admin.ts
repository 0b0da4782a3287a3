import type { Settings } from '../../config/index.ts'
import { registryLogin } from '../../records/open.ts'
import { registryHttp } from '../../records/registry-http.ts'
import { loginSettings } from '../../records/registry-login.ts'
import { codeOf } from '../../telemetry/error.ts'

/**
 * RegistryAdmin is what Confluent's interface offers beside writing and reading records: subjects, their versions and
 * their levels.
 */
export interface RegistryAdmin {
  /** Compatibility level of subjects that have none of their own. */
  levelOfAll(): Promise<string>
  /** null: the subject has none of its own. */
  levelOf(subject: string): Promise<string | null>
  setLevel(subject: string, level: string): Promise<void>
  /** Empty when there is no such subject. */
  versionsOf(subject: string): Promise<SchemaVersion[]>
  /** The version that is this very schema; null when it is not registered there. */
  versionOf(subject: string, schema: object): Promise<number | null>
}

export interface SchemaVersion {
  version: number
  id: number
}

const limitMs = 4000
/** A subject may have many versions, each of which is asked for. */
const mostConnections = 16

/** Every method throws an Error that says what to check. */
export function registryAdmin(settings: Settings): RegistryAdmin {
  const { url } = settings.registry
  const login = registryLogin(settings)
  const http = registryHttp({ url: url!, connections: mostConnections, ...login })

  /** null for a 404 of the registry itself, which holds an error code. */
  async function ask<T>(path: string, body: { method?: 'POST' | 'PUT'; json?: object } = {}): Promise<T | null> {
    const { status, body: answer } = await http<T>(path, { ...body, signal: AbortSignal.timeout(limitMs) }).catch(
      error => {
        throw new Error(`the registry did not answer (${reasonOf(error)}): check registry.url (BUSGATE_REGISTRY_URL)`)
      },
    )
    if (status >= 200 && status < 300 && answer !== null) return answer
    if (status === 404 && answer?.error_code) return null
    if (status === 401 || status === 403) {
      throw new Error(`the registry refuses ${loginSettings(login)} (${status})`)
    }
    throw new Error(
      `registry.url (BUSGATE_REGISTRY_URL) does not lead to a schema registry (HTTP ${status} at ${path})`,
    )
  }

  const of = encodeURIComponent
  return {
    async levelOfAll() {
      return (await ask<LevelAnswer>('/config'))?.compatibilityLevel ?? 'NONE'
    },
    async levelOf(subject) {
      return (await ask<LevelAnswer>(`/config/${of(subject)}`))?.compatibilityLevel ?? null
    },
    async setLevel(subject, compatibility) {
      const set = await ask(`/config/${of(subject)}`, { method: 'PUT', json: { compatibility } })
      if (set === null) throw new Error(`the registry has no subject ${subject}`)
    },
    async versionsOf(subject) {
      const versions = (await ask<number[]>(`/subjects/${of(subject)}/versions`)) ?? []
      const found = await Promise.all(
        versions.map(version => ask<SchemaVersion>(`/subjects/${of(subject)}/versions/${version}`)),
      )
      return found.flatMap(one => (one ? [{ version: one.version, id: one.id }] : []))
    },
    async versionOf(subject, schema) {
      const body = { method: 'POST' as const, json: { schema: JSON.stringify(schema) } }
      return (await ask<SchemaVersion>(`/subjects/${of(subject)}`, body))?.version ?? null
    },
  }
}

interface LevelAnswer {
  compatibilityLevel?: string
}

function reasonOf(error: Error): string {
  return error.name === 'TimeoutError' ? `no answer within ${limitMs / 1000} s` : (codeOf(error) ?? error.name)
}
