import { operations, type SendType, sendTypes } from '../protocol/index.ts'
import type { Policy } from '../vocabulary/lists.ts'
import { variableOf } from './names.ts'
import type { Secret } from './secret.ts'
import type { CheckedValues, Section } from './types.ts'

export interface AccountSettings {
  apiKey: Secret
  /** Operations a second over the whole fleet, without the reconciler's part; undefined for no limit. */
  rate: number | undefined
}

/** The resolved settings with defaults, one section per room. */
export interface Settings extends ReturnType<typeof compile> {}

export function compile(values: CheckedValues) {
  const { apiKey: _apiKey, rate: _rate, ...gateway } = section(values, 'gateway')
  const { policy: _policy, ...doubts } = section(values, 'doubts')
  const { expectMs: _expectMs, ...reconciler } = section(values, 'reconciler')
  return {
    kafka: { ...section(values, 'kafka'), drainMs: drainOf(values), ssl: sslOf(values), sasl: saslOf(values) },
    registry: { ...section(values, 'registry'), ssl: section(values, 'registry.ssl') },
    topics: section(values, 'topics'),
    gateway: {
      ...gateway,
      ssl: section(values, 'gateway.ssl'),
      errorTexts: gateway.errorTexts ?? {},
      notFoundTexts: gateway.notFoundTexts ?? [],
      tenantWeights: gateway.tenantWeights ?? {},
      accounts: accountsOf(values),
      quietHours: quietHoursOf(values),
      countries: perAccount(values, 'countries'),
      maxParts: perAccount(values, 'maxParts'),
    },
    sealing: section(values, 'sealing'),
    commands: section(values, 'commands'),
    doubts: { ...doubts, policies: policiesOf(values) },
    results: section(values, 'results'),
    callbacks: section(values, 'callbacks'),
    reconciler: { ...reconciler, expect: expectationsOf(values) },
    telemetry: section(values, 'telemetry'),
    roles: values.roles,
  }
}

function section<S extends string>(values: CheckedValues, name: S): Section<S> {
  const prefix = `${name}.`
  const own = Object.entries(values)
    .filter(([path]) => path.startsWith(prefix) && !path.includes('.', prefix.length))
    .map(([path, value]) => [path.slice(prefix.length), value])
  return Object.fromEntries(own)
}

/** How long a rebalance waits for requests in flight: the request time-out, but less than the session time-out. */
function drainOf(values: CheckedValues): number {
  const withinSession = Math.max(1, Math.floor(values['kafka.sessionTimeoutMs'] * 0.9))
  return Math.min(withinSession, values['gateway.timeoutMs'])
}

/** False for no TLS. */
function sslOf(values: CheckedValues) {
  const { ca, cert, key } = section(values, 'kafka.ssl')
  return ca || (cert && key) ? { ca, cert, key } : values['kafka.ssl']
}

function saslOf(values: CheckedValues) {
  const { mechanism, username, password, ...oauth } = section(values, 'kafka.sasl')
  if (mechanism === 'oauthbearer') {
    const { tokenEndpoint, clientId, clientSecret } = oauth
    return tokenEndpoint && clientId && clientSecret
      ? { ...oauth, mechanism, tokenEndpoint, clientId, clientSecret }
      : undefined
  }
  return mechanism && username && password ? { mechanism, username, password } : undefined
}

/** Accounts by name. `gateway.apiKey` is the key of the account `default`. */
function accountsOf(values: CheckedValues): ReadonlyMap<string, AccountSettings> {
  const keys = new Map(values['gateway.accounts.NAME.apiKey'])
  if (values['gateway.apiKey']) keys.set('default', values['gateway.apiKey'])
  const rates = values['gateway.accounts.NAME.rate']
  const taken = values['reconciler.rate'] ?? 0
  const rateOf = (name: string) => rates.get(name) ?? values['gateway.rate']
  return new Map(
    [...keys].map(([name, apiKey]) => {
      const rate = rateOf(name)
      return [name, { apiKey, rate: rate === undefined ? undefined : rate - taken }]
    }),
  )
}

/** Where an account's key is set, with the variable. A key must not be set twice, so a file stays a file. */
export function keyPlaceOf(account: string, { apiKey }: Pick<AccountSettings, 'apiKey'>): string {
  const path = account === 'default' ? 'gateway.apiKey' : `gateway.accounts.${account}.apiKey`
  return apiKey.file !== null
    ? `the file of ${path}File (${variableOf(`${path}File`)})`
    : `${path} (${variableOf(path)})`
}

/** Quiet hours by account. A process without API keys shows those of `default` and of the accounts that have their own. */
function quietHoursOf(values: CheckedValues): ReadonlyMap<string, readonly string[]> {
  const own = values['gateway.accounts.NAME.quietHours']
  const keys = [...accountsOf(values).keys()]
  const names = keys.length > 0 ? keys : new Set(['default', ...own.keys()])
  return new Map(
    [...names].flatMap(name => {
      const windows = own.get(name) ?? values['gateway.quietHours']
      return windows ? [[name, windows] as const] : []
    }),
  )
}

/** A setting of the gateway that an account can replace. */
export interface PerAccount<T> {
  general: T | undefined
  own: ReadonlyMap<string, T>
}

/** The account's own value, else the general one. */
export const valueFor = <T>(account: string, { general, own }: PerAccount<T>): T | undefined =>
  own.get(account) ?? general

function perAccount<N extends 'countries' | 'maxParts'>(values: CheckedValues, name: N) {
  const own = values[`gateway.accounts.NAME.${name}`]
  return { general: values[`gateway.${name}`], own } as PerAccount<NonNullable<CheckedValues[`gateway.${N}`]>>
}

/** When a doubt is asked about: first this long after it is read, then at this interval, in milliseconds. */
export const doubtTimes = ({ gateway, doubts }: Pick<Settings, 'gateway' | 'doubts'>) => ({
  settleMs: gateway.timeoutMs + doubts.waitMs,
  pollIntervalMs: Math.ceil(doubts.waitMs / 3),
})

/** Milliseconds after sending until a verdict is overdue, by type. */
function expectationsOf(values: CheckedValues): Record<SendType, number> {
  const expectationOf = (type: SendType) => values['reconciler.expect.TYPE'].get(type) ?? values['reconciler.expectMs']
  return Object.fromEntries(sendTypes.map(type => [type, expectationOf(type)])) as Record<SendType, number>
}

function policiesOf(values: CheckedValues): Record<SendType, Policy> {
  const policyOf = (type: SendType) =>
    values['doubts.policies.TYPE'].get(type) ?? operations[type].policy ?? values['doubts.policy']
  return Object.fromEntries(sendTypes.map(type => [type, policyOf(type)])) as Record<SendType, Policy>
}
