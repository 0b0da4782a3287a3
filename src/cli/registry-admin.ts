import type { Settings } from '../config/index.ts'
import { registryLogin } from '../records/registry.ts'
import { loginSettings, registryHttp } from '../records/registry-http.ts'
import { codeOf } from '../telemetry/error.ts'

/** The administrative part of Confluent's API: subjects, their versions and compatibility levels. */
export type RegistryAdmin = ReturnType<typeof registryAdmin>

interface SchemaVersion {
  version: number
  id: number
}

const limitMs = 4000
/** Bound of concurrent requests, since every version of a subject is requested. */
const mostConnections = 16

/** Opens the registry for administration. Every method throws an Error that says what to check. */
export function registryAdmin(settings: Settings) {
  const { url } = settings.registry
  const login = registryLogin(settings)
  const http = registryHttp({ url: url!, connections: mostConnections, ...login })

  /** Returns null if the registry says that it has no such subject, version or level. */
  async function ask<T>(path: string, body: { method?: 'POST' | 'PUT'; json?: object } = {}): Promise<T | null> {
    const { status, body: answer } = await http<T>(path, { ...body, signal: AbortSignal.timeout(limitMs) }).catch(
      error => {
        throw new Error(`the registry did not answer (${outageOf(error)}): check registry.url (BUSGATE_REGISTRY_URL)`)
      },
    )
    if (status >= 200 && status < 300 && answer !== null) return answer
    if (status === 404 && isMissing(answer?.error_code)) return null
    if (status === 404) throw wrongPath()
    if (status === 401 || status === 403) {
      throw new Error(`the registry refuses ${loginSettings(login)} (${status})`)
    }
    throw new Error(
      `registry.url (BUSGATE_REGISTRY_URL) does not lead to a schema registry (HTTP ${status} at ${path})`,
    )
  }

  const of = encodeURIComponent
  return {
    /** Default compatibility level. */
    async levelOfAll(): Promise<string> {
      const answer = await ask<LevelAnswer>('/config')
      if (answer === null) throw wrongPath()
      return answer.compatibilityLevel ?? 'NONE'
    },
    /** null if the subject has the default level. */
    async levelOf(subject: string): Promise<string | null> {
      return (await ask<LevelAnswer>(`/config/${of(subject)}`))?.compatibilityLevel ?? null
    },
    async setLevel(subject: string, compatibility: string): Promise<void> {
      const set = await ask(`/config/${of(subject)}`, { method: 'PUT', json: { compatibility } })
      if (set === null) throw new Error(`the registry has no subject ${subject}`)
    },
    /** Empty if there is no such subject. */
    async versionsOf(subject: string): Promise<number[]> {
      return (await ask<number[]>(`/subjects/${of(subject)}/versions`)) ?? []
    },
    /** The id of a version's schema; null if it was deleted meanwhile. */
    async idOf(subject: string, version: number): Promise<number | null> {
      return (await ask<SchemaVersion>(`/subjects/${of(subject)}/versions/${version}`))?.id ?? null
    },
    /** The version that equals the schema; null if it is not registered. */
    async versionOf(subject: string, schema: object): Promise<number | null> {
      const body = { method: 'POST' as const, json: { schema: JSON.stringify(schema) } }
      return (await ask<SchemaVersion>(`/subjects/${of(subject)}`, body))?.version ?? null
    },
  }
}

/** Whether a 404 is the registry's own: a wrong path or a proxy answers without a code, or with 404 as its code. */
const isMissing = (code: unknown): boolean => /^404\d\d$/.test(String(code))

const wrongPath = () =>
  new Error('the registry answers 404: check registry.url (BUSGATE_REGISTRY_URL), its path included')

interface LevelAnswer {
  compatibilityLevel?: string
}

function outageOf(error: Error): string {
  return error.name === 'TimeoutError' ? `no answer within ${limitMs / 1000} s` : (codeOf(error) ?? error.name)
}
