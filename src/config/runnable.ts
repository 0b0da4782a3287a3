import type { Role } from '../vocabulary/lists.ts'
import type { Settings } from './compile.ts'
import { definitions, type SettingPath } from './definitions.ts'
import { type SettingProblem, SettingsError } from './errors.ts'
import { variableOf } from './names.ts'

export type WithBrokers = { kafka: { brokers: NonNullable<Settings['kafka']['brokers']> } }
export type WithGateway = { gateway: { url: string } }

/** A tree as in a file lacks what is derived from other settings. @throws TypeError that says where settings come from */
export function requireLoaded(settings: Settings | undefined): void {
  if (settings?.kafka?.drainMs === undefined) throw new TypeError('settings must be what loadSettings returns')
}

/**
 * Requires the settings that `run` needs for the roles of this process. @throws SettingsError that names everything missing
 */
export function requireRunnable(settings: Settings): asserts settings is Settings & WithBrokers {
  requireLoaded(settings)
  const asks = settings.roles.filter(role => role !== 'callbacks')
  const problems: SettingProblem[] = []
  if (settings.kafka.brokers === undefined) problems.push(missing('kafka.brokers', settings.roles))
  if (settings.kafka.brokers !== 'embedded' && settings.registry.url === undefined) {
    problems.push({ ...missing('registry.url', []), what: 'is required unless kafka.brokers is embedded' })
  }
  if (asks.length > 0) problems.push(...missingOfGateway(settings, asks))
  if (settings.roles.includes('reconciler') && !settings.reconciler.rate && hasRates(settings)) {
    problems.push({
      ...missing('reconciler.rate', []),
      what: 'is required with the role reconciler, because its polls count against the rate of an account',
    })
  }
  if (asks.length === 0 && !settings.callbacks.secret) problems.push(missing('callbacks.secret', settings.roles))
  if (problems.length > 0) throw new SettingsError(problems)
}

/** The roles that run: `callbacks` only with a secret for hook addresses. */
export const runningRoles = ({ roles, callbacks }: Settings): Role[] =>
  roles.filter(role => role !== 'callbacks' || callbacks.secret !== undefined)

export const whyRoleIsOff = `callbacks.secret (${variableOf('callbacks.secret')}) is not set`

/** Requires the settings for reading from the bus. @throws SettingsError if they are missing */
export function requireBrokers(settings: Settings): asserts settings is Settings & WithBrokers {
  requireLoaded(settings)
  if (settings.kafka.brokers === undefined) throw lackOf('kafka.brokers')
}

/** The error of a command that needs a setting. @param what is wrong with it. Default: it is not set. */
export function lackOf(path: SettingPath, what?: string): SettingsError {
  return new SettingsError([{ ...missing(path, []), ...(what !== undefined && { what }) }])
}

/** Requires the settings for requests to the gateway. @throws SettingsError that names everything missing */
export function requireGateway(settings: Settings): asserts settings is Settings & WithGateway {
  const problems = missingOfGateway(settings, [])
  if (problems.length > 0) throw new SettingsError(problems)
}

function missingOfGateway({ gateway }: Settings, roles: string[]): SettingProblem[] {
  return [
    ...(gateway.url === undefined ? [missing('gateway.url', roles)] : []),
    ...(gateway.accounts.size === 0 ? [missing('gateway.apiKey', roles)] : []),
  ]
}

function hasRates({ gateway }: Settings): boolean {
  return [...gateway.accounts.values()].some(({ rate }) => rate !== undefined)
}

function missing(path: SettingPath, roles: string[]): SettingProblem {
  const what = roles.length > 0 ? `is not set, but required by ${roles.join(', ')}` : 'is not set'
  return { path, where: variableOf(path), variable: variableOf(path), what, example: definitions[path].example }
}
