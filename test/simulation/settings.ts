import { loadSettings, type Settings } from '../../src/config/index.ts'
import { Secret } from '../../src/config/secret.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import { texts } from './gateway.ts'
import type { Plan, StrictPlan } from './plan.ts'
import { keysAt } from './sealing.ts'

const base = loadSettings({
  env: {},
  overrides: {
    kafka: { brokers: 'embedded', groupId: 'sim' },
    topics: {
      commands: ['urgent', 'bulk'],
      results: 'results',
      statuses: 'statuses',
      deadLetters: 'dead-letters',
      doubts: 'doubts',
      control: 'control',
      later: 'later',
    },
    gateway: {
      url: 'http://gateway.example',
      accounts: { default: { apiKey: 'key-of-default' }, other: { apiKey: 'key-of-other' } },
      balanceIntervalMs: 0,
    },
  },
})

/** Account names by key. */
export const keys: ReadonlyMap<string, string> = new Map(
  [...base.gateway.accounts].map(([name, { apiKey }]) => [apiKey.reveal(), name]),
)

/** Types that are AT_MOST_ONCE by default, as in every installation. */
const once = new Set(['telegram', 'call/otp', 'hlr'])

/** The settings of a world's workers. The plan's times are hundreds of times shorter than real ones. */
export function settingsOf(plan: Plan): Settings & { gateway: { url: string } } {
  const { sessionTimeoutMs, drainMs, maxOperations, concurrency, lingerMs, timeoutMs, rate } = plan
  const { settleMs, polls, attempts, maxAgeMs, maxIntents } = plan
  const accounts = new Map([...base.gateway.accounts].map(([name, { apiKey }]) => [name, { apiKey, rate }]))
  const policies = Object.fromEntries(sendTypes.map(type => [type, once.has(type) ? 'AT_MOST_ONCE' : plan.default]))
  return {
    ...base,
    kafka: { ...base.kafka, sessionTimeoutMs, drainMs, startFrom: 'earliest' },
    gateway: {
      ...{ ...base.gateway, url: base.gateway.url!, accounts, maxOperations, concurrency, lingerMs, timeoutMs },
      notFoundTexts: plan.notFound ? [texts.notFound] : [],
    },
    commands: { ...base.commands, maxAgeMs, maxInFlight: maxIntents },
    doubts: { policies: policies as Settings['doubts']['policies'], waitMs: settleMs, polls, maxAttempts: attempts },
  }
}

/** What one process has: its own view of the file of keys, and the limits of its start. */
export function settingsOfProcess<S extends Settings>(
  settings: S,
  { keys, strict }: Plan,
  { now, lagMs }: { now: () => number; lagMs: number },
): S {
  const { countries, clear } = strict && now() >= strict.from ? strict : noLimits
  return {
    ...settings,
    gateway: { ...settings.gateway, ...(countries && { countries: { general: ['PL'], own: new Map() } }) },
    sealing: {
      keys: new Secret(() => keysAt(keys, now() - lagMs)),
      required: clear ? [...base.gateway.accounts.keys()] : undefined,
    },
  }
}

const noLimits: StrictPlan = { from: 0, countries: false, clear: false }
