import { hookForCommands, tokensOf } from '../callbacks/role.ts'
import {
  loadRunnableSettings,
  loadSettings,
  type Settings,
  SettingsError,
  type SettingsSources,
  variableOf,
} from '../config/index.ts'
import { Telemetry } from '../telemetry/events.ts'
import { type Flag, textFlag, UsageError } from './framework/command.ts'
import { nearest } from './framework/parse.ts'

export const configFlag: Flag<string> = textFlag('FILE', 'YAML file with settings; variables override it.')

export function sourcesOf(file: string | undefined): SettingsSources {
  return { env: process.env, ...(file !== undefined && { file }) }
}

export function settingsFrom(file: string | undefined): Settings {
  return loadSettings(sourcesOf(file))
}

/**
 * Reads the settings for commands that look at a bus from outside. @throws SettingsError when the settings name none
 * that can be reached.
 */
export function settingsWithBrokers(file: string | undefined): Settings {
  const settings = settingsFrom(file)
  const { brokers } = settings.kafka
  if (Array.isArray(brokers)) return settings
  const embedded = 'is embedded: that bus exists only inside its own process. Name brokers'
  throw new SettingsError([
    {
      path: 'kafka.brokers',
      where: variableOf('kafka.brokers'),
      what: brokers === 'embedded' ? embedded : 'is not set',
      example: 'broker-1:9092,broker-2:9092',
    },
  ])
}

/** The setting that holds the API key of an account. */
export function apiKeyPath(account: string): string {
  return account === 'default' ? 'gateway.apiKey' : `gateway.accounts.${account}.apiKey`
}

export function unknownAccount(account: string, known: readonly string[]): UsageError {
  return new UsageError(`--account: gateway.accounts has no ${account}; the nearest is ${nearest(account, known)}`)
}

/** Settings without an account may belong to a process that needs none: then any name is good. @throws UsageError */
export function requireAccount(account: string, { gateway }: Settings): void {
  const known = [...gateway.accounts.keys()]
  if (known.length > 0 && !known.includes(account)) throw unknownAccount(account, known)
}

/** The settings of a process that could start with them. @throws SettingsError that names all that is wrong or missing */
export function runnableSettings(sources: SettingsSources): Settings {
  // refuses an address that leaves no room for a token
  return loadRunnableSettings(sources, settings => hookForCommands(settings, tokensOf(settings), new Telemetry()))
}
