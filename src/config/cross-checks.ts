import type { SettingPath } from './definitions.ts'
import { topicUses } from './topology.ts'
import type { CheckedValues } from './types.ts'

/** Longest lease, whatever the session time-out. */
const longestLeaseMs = 10_000

/** How long a worker may begin sends after an answered heartbeat, in milliseconds. */
export const leaseMs = (sessionTimeoutMs: number): number => Math.min(sessionTimeoutMs, longestLeaseMs)

/** A rule over several settings. Checked only if each of `paths` is valid; a violation is reported at the first path. */
export interface CrossCheck {
  paths: [SettingPath, ...SettingPath[]]
  broken(values: CheckedValues): boolean
  what: string
}

/** What the mechanism oauthbearer allows, and no other. */
const oauthExtras = [
  'kafka.sasl.scope',
  'kafka.sasl.audience',
  'kafka.sasl.resource',
  'kafka.sasl.extensions',
] as const satisfies SettingPath[]

export const crossChecks: CrossCheck[] = [
  {
    paths: ['doubts.waitMs', 'gateway.timeoutMs', 'kafka.sessionTimeoutMs'],
    broken: values =>
      values['kafka.brokers'] !== 'embedded' &&
      leaseMs(values['kafka.sessionTimeoutMs']) >= values['gateway.timeoutMs'] + values['doubts.waitMs'],
    what: 'gateway.timeoutMs + doubts.waitMs must be above kafka.sessionTimeoutMs (or 10000, if that is less): a worker that lost its partition may begin a request until then, so a doubt must be left alone for longer; raise doubts.waitMs',
  },
  {
    paths: ['kafka.sasl.mechanism', 'kafka.sasl.username', 'kafka.sasl.password'],
    broken: values =>
      values['kafka.sasl.mechanism'] !== 'oauthbearer' &&
      !allOrNone(values['kafka.sasl.mechanism'], values['kafka.sasl.username'], values['kafka.sasl.password']),
    what: 'kafka.sasl.mechanism, .username and .password go together: give all three or none',
  },
  {
    paths: [
      'kafka.sasl.mechanism',
      'kafka.sasl.tokenEndpoint',
      'kafka.sasl.clientId',
      'kafka.sasl.clientSecret',
      ...oauthExtras,
    ],
    broken: values => {
      const needed = [
        values['kafka.sasl.tokenEndpoint'],
        values['kafka.sasl.clientId'],
        values['kafka.sasl.clientSecret'],
      ]
      return values['kafka.sasl.mechanism'] === 'oauthbearer'
        ? needed.includes(undefined)
        : [...needed, ...oauthExtras.map(path => values[path])].some(value => value !== undefined)
    },
    what: 'kafka.sasl.tokenEndpoint, .clientId and .clientSecret go together with the mechanism oauthbearer, and they, .scope, .audience, .resource and .extensions with no other',
  },
  {
    paths: ['kafka.ssl.cert', 'kafka.ssl.key'],
    broken: values => !allOrNone(values['kafka.ssl.cert'], values['kafka.ssl.key']),
    what: 'kafka.ssl.cert and kafka.ssl.key go together: give both or none',
  },
  {
    paths: ['registry.url', 'kafka.brokers'],
    broken: values => Array.isArray(values['kafka.brokers']) && values['registry.url'] === undefined,
    what: 'is required unless kafka.brokers is embedded',
  },
  {
    paths: ['registry.username', 'registry.password'],
    broken: values => !allOrNone(values['registry.username'], values['registry.password']),
    what: 'registry.username and registry.password go together: give both or none',
  },
  {
    paths: ['registry.token', 'registry.username', 'registry.password'],
    broken: values => values['registry.token'] !== undefined && values['registry.username'] !== undefined,
    what: 'takes the place of registry.username and registry.password: give one of them',
  },
  {
    paths: ['registry.ssl.cert', 'registry.ssl.key'],
    broken: values => !allOrNone(values['registry.ssl.cert'], values['registry.ssl.key']),
    what: 'registry.ssl.cert and registry.ssl.key go together: give both or none',
  },
  {
    paths: ['topics.commands', ...topicUses.map(use => `topics.${use}` as const)],
    broken: values => {
      const names = topicUses.flatMap(use => values[`topics.${use}`])
      return new Set(names).size < names.length
    },
    what: 'two topics have the same name; each needs its own',
  },
  {
    paths: ['callbacks.port', 'telemetry.port'],
    broken: values => values['callbacks.port'] !== 0 && values['callbacks.port'] === values['telemetry.port'],
    what: 'is also telemetry.port; a process needs two',
  },
  {
    paths: ['callbacks.secret', 'callbacks.publicUrl'],
    broken: values => values['callbacks.publicUrl'] !== undefined && values['callbacks.secret'] === undefined,
    what: 'is required with callbacks.publicUrl',
  },
  {
    paths: ['gateway.apiKey', 'gateway.accounts.NAME.apiKey'],
    broken: values => values['gateway.apiKey'] !== undefined && values['gateway.accounts.NAME.apiKey'].has('default'),
    what: 'is the same setting as gateway.accounts.default.apiKey: give one of them',
  },
  {
    paths: ['gateway.accounts.NAME.rate', 'gateway.accounts.NAME.apiKey', 'gateway.apiKey'],
    broken: values => [...values['gateway.accounts.NAME.rate'].keys()].some(name => !hasKey(values, name)),
    what: 'an account has a rate but no apiKey',
  },
  ...(['quietHours', 'countries', 'maxParts'] as const).map((name): CrossCheck => {
    const own = `gateway.accounts.NAME.${name}` as const
    return {
      paths: [own, 'gateway.accounts.NAME.apiKey', 'gateway.apiKey'],
      broken: values => hasKeys(values) && [...values[own].keys()].some(account => !hasKey(values, account)),
      what: `an account has ${name} but no apiKey`,
    }
  }),
  {
    paths: ['sealing.required', 'gateway.accounts.NAME.apiKey', 'gateway.apiKey'],
    broken: values => hasKeys(values) && (values['sealing.required'] ?? []).some(account => !hasKey(values, account)),
    what: 'names an account without apiKey',
  },
  {
    paths: ['sealing.required', 'sealing.keys', 'roles', 'gateway.accounts.NAME.apiKey', 'gateway.apiKey'],
    broken: values =>
      hasKeys(values) &&
      values.roles.includes('worker') &&
      values['sealing.required'] !== undefined &&
      values['sealing.keys'] === undefined,
    what: 'needs sealing.keysFile, without which no worker opens sealed content',
  },
  {
    paths: ['gateway.quietHours', 'gateway.accounts.NAME.quietHours', 'topics.commands'],
    broken: values =>
      values['topics.commands'].length === 1 &&
      (values['gateway.quietHours'] !== undefined || values['gateway.accounts.NAME.quietHours'].size > 0),
    what: 'has no effect: topics.commands names one topic, and quiet hours do not apply to the most urgent one; add a second topic',
  },
  {
    paths: ['commands.maxInFlight', 'gateway.maxOperations'],
    broken: values => (values['commands.maxInFlight'] ?? Infinity) < 2 * values['gateway.maxOperations'],
    what: 'must be at least 2 × gateway.maxOperations: two envelopes, one of them for the most urgent topic',
  },
  {
    paths: ['reconciler.rate', 'gateway.rate', 'gateway.accounts.NAME.rate'],
    broken: values => ratesOf(values).some(rate => rate <= (values['reconciler.rate'] ?? 0)),
    what: 'must be below the rate of every account, or nothing is left to send with',
  },
]

function ratesOf(values: CheckedValues): number[] {
  return [values['gateway.rate'] ?? [], ...values['gateway.accounts.NAME.rate'].values()].flat()
}

/** Whether the process may send; others only show these settings, or check commands that they write. */
function hasKeys(values: CheckedValues): boolean {
  return values['gateway.apiKey'] !== undefined || values['gateway.accounts.NAME.apiKey'].size > 0
}

function hasKey(values: CheckedValues, account: string): boolean {
  return (
    values['gateway.accounts.NAME.apiKey'].has(account) ||
    (account === 'default' && values['gateway.apiKey'] !== undefined)
  )
}

function allOrNone(...values: unknown[]): boolean {
  const given = values.filter(value => value !== undefined).length
  return given === 0 || given === values.length
}
