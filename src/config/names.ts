import { nearest } from '../nearest.ts'
import { sendTypes } from '../protocol/index.ts'
import { definitions, type SettingPath } from './definitions.ts'

/** A written name: its setting, and the value of its placeholder NAME or TYPE. */
export interface Match {
  setting: SettingPath
  /** The path as written, without a twin's `File`. */
  path: string
  key: string | undefined
  isFile: boolean
}

/** Whether gateway.accounts can name an account like this. */
export function isAccountName(name: string): boolean {
  return /^[a-z0-9]+$/.test(name)
}

const placeholders: Record<string, { fits(part: string): boolean; fromVariable(part: string): string; hint: string }> =
  {
    NAME: {
      fits: isAccountName,
      fromVariable: part => part.toLowerCase(),
      hint: 'NAME is made of lower-case letters and digits',
    },
    TYPE: {
      fits: part => sendTypes.some(type => type === part),
      fromVariable: part => sendTypes.find(type => snakeCase(type) === part) ?? part,
      hint: `TYPE is one of ${sendTypes.join(', ')}`,
    },
  }

const prefix = 'BUSGATE_'

const settingPaths = Object.keys(definitions) as SettingPath[]

/** Every path that can be written, with placeholders. */
const writable = settingPaths.flatMap(setting => {
  const entry = { setting, path: setting as string, parts: setting.split('.'), isFile: false }
  if (!definitions[setting].secret) return [entry]
  return [entry, { setting, path: `${setting}File`, parts: `${setting}File`.split('.'), isFile: true }]
})

const sections = [...new Set(settingPaths.map(setting => setting.split('.')[0]!))].map(path => ({
  path,
  parts: [path],
}))

/** `gateway.maxOperations` → BUSGATE_GATEWAY_MAX_OPERATIONS, `doubts.policies.call/otp` → BUSGATE_DOUBTS_POLICIES_CALL_OTP */
export function variableOf(path: string): string {
  return `${prefix}${snakeCase(path)}`
}

export function matchPath(path: string): Match | undefined {
  const parts = path.split('.')
  const found = writable.find(known => known.parts.length === parts.length && parts.every(fits(known.parts)))
  if (!found) return undefined
  const key = parts.find((_, index) => placeholders[found.parts[index]!])
  return {
    setting: found.setting,
    path: found.isFile ? path.slice(0, -'File'.length) : path,
    key,
    isFile: found.isFile,
  }
}

/** The path that belongs to a variable. */
export function pathOfVariable(variable: string): string | undefined {
  for (const known of writable) {
    const path = pathIfNamed(variable, known.parts)
    if (path !== undefined && matchPath(path)) return path
  }
  return undefined
}

/** The settings below a path; empty if it is not a section. */
export function settingsBelow(path: string): SettingPath[] {
  const parts = path.split('.')
  const below = writable.filter(known => known.parts.length > parts.length && parts.every(fits(known.parts)))
  return [...new Set(below.map(({ setting }) => setting))]
}

export function isSection(path: string): boolean {
  return settingsBelow(path).length > 0
}

export function hasPlaceholder(setting: SettingPath): boolean {
  return setting.split('.').some(part => placeholders[part])
}

/** The advice after an unknown name: the path, section or variable that was probably meant, with a hint for its placeholder. */
export function nearestTo(name: string): string {
  const isVariable = name.startsWith(prefix)
  const spell = (path: string) => (isVariable ? snakeCase(path) : path)
  const given = isVariable ? name.slice(prefix.length) : name
  const known = (isVariable ? writable : [...sections, ...writable]).map(({ path, parts }) => {
    return { path, parts, spelled: spell(filledFrom(given.split(isVariable ? '_' : '.'), parts.map(spell), parts)) }
  })
  const spelled = nearest(
    given,
    known.map(one => one.spelled),
  )
  const found = known.find(one => one.spelled === spelled)
  if (!found) return 'busgate config explain lists the settings'
  const hint = found.parts.map(part => placeholders[part]?.hint).find(Boolean)
  return `the nearest is ${isVariable ? variableOf(found.path) : found.path}${hint ? ` (${hint})` : ''}`
}

/** A known path, its placeholder replaced by the words of the given name in its place. */
function filledFrom(words: readonly string[], spelled: readonly string[], parts: readonly string[]): string {
  const at = parts.findIndex(part => placeholders[part])
  if (at === -1) return parts.join('.')
  const behind = spelled.slice(at + 1).flatMap(part => part.split('_')).length
  const value = words.slice(at, words.length - behind).join('.')
  return parts.with(at, value || parts[at]!).join('.')
}

const fits = (template: string[]) => (part: string, index: number) =>
  placeholders[template[index]!]?.fits(part) ?? template[index] === part

function pathIfNamed(variable: string, parts: string[]): string | undefined {
  const pattern = parts.map(part => (placeholders[part] ? '([A-Z0-9_]+)' : snakeCase(part))).join('_')
  const match = new RegExp(`^BUSGATE_${pattern}$`).exec(variable)
  if (!match) return undefined
  return parts.map(part => placeholders[part]?.fromVariable(match[1]!) ?? part).join('.')
}

function snakeCase(path: string): string {
  return path
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
}
