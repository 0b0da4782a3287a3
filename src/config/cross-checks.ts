import { isIPv6 } from 'node:net'
import type { SettingPath } from './definitions.ts'
import { topicUses } from './topology.ts'
import type { CheckedValues } from './types.ts'

/** A lease is never longer than this, whatever the session time-out. */
const longestLeaseMs = 10_000

/** Tells how long, in milliseconds, a worker may begin sends after a heartbeat that the coordinator answered. */
export const leaseMs = (sessionTimeoutMs: number): number => Math.min(sessionTimeoutMs, longestLeaseMs)

/** A rule over several settings. It is asked only when each of `paths` is fine by itself; the first one is blamed. */
export interface CrossCheck {
  paths: [SettingPath, ...SettingPath[]]
  broken(values: CheckedValues): boolean
  what: string
}

export const crossChecks: CrossCheck[] = [
  {
    paths: ['kafka.drainMs', 'kafka.sessionTimeoutMs', 'kafka.rebalanceTimeoutMs'],
    broken: values =>
      (values['kafka.drainMs'] ?? 0) >= values['kafka.sessionTimeoutMs'] ||
      values['kafka.sessionTimeoutMs'] >= values['kafka.rebalanceTimeoutMs'],
    what: 'must be below kafka.sessionTimeoutMs, and that below kafka.rebalanceTimeoutMs',
  },
  {
    paths: ['delivery.settleMs', 'gateway.timeoutMs', 'kafka.sessionTimeoutMs', 'kafka.brokers'],
    broken: values =>
      values['kafka.brokers'] !== 'embedded' &&
      leaseMs(values['kafka.sessionTimeoutMs']) >= values['gateway.timeoutMs'] + values['delivery.settleMs'],
    what: 'gateway.timeoutMs + delivery.settleMs must be above kafka.sessionTimeoutMs (or 10000, if that is less): a worker that lost its partition may begin a request until then, so a doubt must be left alone for longer; raise delivery.settleMs',
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
      'kafka.sasl.scope',
    ],
    broken: values => {
      const needed = [
        values['kafka.sasl.tokenEndpoint'],
        values['kafka.sasl.clientId'],
        values['kafka.sasl.clientSecret'],
      ]
      return values['kafka.sasl.mechanism'] === 'oauthbearer'
        ? needed.includes(undefined)
        : [...needed, values['kafka.sasl.scope']].some(value => value !== undefined)
    },
    what: 'kafka.sasl.tokenEndpoint, .clientId and .clientSecret go together with the mechanism oauthbearer, which alone takes them',
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
    what: 'each topic needs a name of its own, and two of them are the same',
  },
  {
    paths: ['callbacks.secret', 'callbacks.publicUrl'],
    broken: values => values['callbacks.publicUrl'] !== undefined && values['callbacks.secret'] === undefined,
    what: 'is required with callbacks.publicUrl',
  },
  {
    paths: ['callbacks.headersMs', 'callbacks.requestMs'],
    broken: values => values['callbacks.headersMs'] > values['callbacks.requestMs'],
    what: 'must not be above callbacks.requestMs, of which the headers are a part',
  },
  {
    paths: ['callbacks.port', 'telemetry.port', 'callbacks.host', 'telemetry.host', 'roles'],
    broken: values =>
      values.roles.includes('callbacks') &&
      values['callbacks.port'] !== 0 &&
      values['callbacks.port'] === values['telemetry.port'] &&
      meet(values['callbacks.host'], values['telemetry.host']),
    what: 'is the port of telemetry.port too, and both listen in this process: give each a port of its own',
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
  {
    paths: ['gateway.accounts.NAME.weight', 'gateway.accounts.NAME.apiKey', 'gateway.apiKey'],
    broken: values => [...values['gateway.accounts.NAME.weight'].keys()].some(name => !hasKey(values, name)),
    what: 'an account has a weight but no apiKey',
  },
  {
    paths: ['gateway.accounts.NAME.quietHours', 'gateway.accounts.NAME.apiKey', 'gateway.apiKey'],
    broken: values => [...values['gateway.accounts.NAME.quietHours'].keys()].some(name => !hasKey(values, name)),
    what: 'an account has quiet hours but no apiKey',
  },
  {
    paths: ['gateway.quietHours', 'gateway.accounts.NAME.quietHours', 'topics.commands'],
    broken: values =>
      values['topics.commands'].length === 1 &&
      (values['gateway.quietHours'] !== undefined || values['gateway.accounts.NAME.quietHours'].size > 0),
    what: 'would stop nothing: topics.commands is one topic, which is the most urgent one; name a second topic for what can wait',
  },
  {
    paths: ['delivery.maxIntents', 'gateway.maxOperations'],
    broken: values => (values['delivery.maxIntents'] ?? Infinity) < 2 * values['gateway.maxOperations'],
    what: 'must hold two envelopes, one of them of the most urgent topic: 2 × gateway.maxOperations at least',
  },
  {
    paths: ['reconciler.rate', 'gateway.rate', 'gateway.accounts.NAME.rate'],
    broken: values => ratesOf(values).some(rate => rate <= (values['reconciler.rate'] ?? 0)),
    what: 'must be below the rate of every account, or nothing is left to send with',
  },
]

/** Tells whether a port can be taken only once at the two addresses: some stand for every one of the machine. */
function meet(...hosts: [string, string]): boolean {
  const [one, other] = hosts.map(addressesOf) as [string[], string[]]
  const all = [...one, ...other]
  return all.includes('0.0.0.0') || all.includes('[::]') || one.some(address => other.includes(address))
}

/** Addresses of a host, in one spelling each. What other names stand for is known only where they are looked up. */
function addressesOf(host: string): string[] {
  const spelled = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`)?.hostname ?? host
  if (spelled === 'localhost') return ['127.0.0.1', '[::1]']
  const [, high, low] = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(spelled) ?? []
  if (high === undefined || low === undefined) return [spelled]
  const bytes = [high, low].flatMap(part => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 0xff])
  return [bytes.join('.')]
}

function ratesOf(values: CheckedValues): number[] {
  return [values['gateway.rate'] ?? [], ...values['gateway.accounts.NAME.rate'].values()].flat()
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
