import { hookForCommands, tokensOf } from '../callbacks/role.ts'
import {
  lackOf,
  loadRunnableSettings,
  loadSettings,
  type Settings,
  SettingsError,
  type SettingsSources,
} from '../config/index.ts'
import { proxyTrouble } from '../gateway/origin-pool.ts'
import { nearestOr } from '../nearest.ts'
import { Telemetry } from '../telemetry/events.ts'
import { type Flag, textFlag, UsageError } from './framework/command.ts'

export const configFlag: Flag<string> = {
  ...textFlag('FILE', 'YAML file with settings; variables override it.'),
  values: () => 'files',
}

export function sourcesOf(file: string | undefined): SettingsSources {
  return { env: process.env, ...(file !== undefined && { file }) }
}

export function settingsFrom(file: string | undefined): Settings {
  return loadSettings(sourcesOf(file))
}

/** Reads the settings for commands that need real brokers. @throws SettingsError when the settings name no brokers */
export function settingsWithBrokers(file: string | undefined): Settings {
  const settings = settingsFrom(file)
  const { brokers } = settings.kafka
  if (Array.isArray(brokers)) return settings
  const embedded = 'is embedded: that bus exists only inside its own process. Name brokers'
  throw lackOf('kafka.brokers', brokers && embedded)
}

export function unknownAccount(account: string, known: readonly string[]): UsageError {
  const advice = nearestOr(account, known, `the accounts are ${known.join(', ')}`)
  return new UsageError(`--account: gateway.accounts has no ${account}; ${advice}`)
}

/**
 * Refuses an unknown account, unless the settings have no accounts at all: they may belong to a process that needs none.
 * @throws UsageError
 */
export function requireAccount(account: string, { gateway }: Settings): void {
  const known = [...gateway.accounts.keys()]
  if (known.length > 0 && !known.includes(account)) throw unknownAccount(account, known)
}

/** Reads settings that are complete enough to start a process. @throws SettingsError that lists every problem */
export function runnableSettings(sources: SettingsSources): Settings {
  const requireRoomForToken = (settings: Settings) => {
    hookForCommands(settings, tokensOf(settings), new Telemetry())
  }
  return loadRunnableSettings(sources, requireRoomForToken, settings => requireProxy(settings, sources.env))
}

/** @throws SettingsError that names the variable of a proxy which cannot be used */
function requireProxy({ gateway, roles }: Settings, env: SettingsSources['env']): void {
  const isAsked = roles.some(role => role !== 'callbacks')
  const trouble = isAsked && gateway.url !== undefined && proxyTrouble(gateway.url, env)
  if (!trouble) return
  const { variable, what } = trouble
  throw new SettingsError([{ path: variable, where: variable, what }])
}
