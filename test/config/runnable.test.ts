import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  loadRunnableSettings,
  loadSettings,
  requireRunnable,
  type Settings,
  SettingsError,
} from '../../src/config/index.ts'
import { createDecoders, readResults, waitForResult } from '../../src/consumer/index.ts'
import { createWorker, openBus } from '../../src/index.ts'
import { createProducer } from '../../src/producer.ts'
import { buildSettings } from '../support/settings.ts'

function problemsOf(check: () => unknown): SettingsError['problems'] {
  try {
    check()
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

const missingFor = (env: Record<string, string>) =>
  problemsOf(() => requireRunnable(loadSettings({ env }))).map(({ path, where, what }) => `${path} (${where}) ${what}`)

const brokers = { BUSGATE_KAFKA_BROKERS: 'embedded' }

describe('a process', () => {
  it('starts with brokers, a gateway and a key', () => {
    expect(() => requireRunnable(buildSettings())).not.toThrow()
  })

  it('that does not catch the settings error prints each setting once', () => {
    const printed = inspect(
      new SettingsError([{ path: 'gateway.url', where: 'BUSGATE_GATEWAY_URL', what: 'is not set' }]),
    )
    expect(printed.split('gateway.url').length - 1).toBe(1)
    expect(printed).toContain("code: 'SETTINGS_INVALID'")
  })

  it('with only the role reconciler needs gateway.url too', () => {
    expect(missingFor({ ...brokers, BUSGATE_ROLES: 'reconciler', BUSGATE_GATEWAY_API_KEY: 'k' })).toEqual([
      'gateway.url (BUSGATE_GATEWAY_URL) is not set, but required by reconciler',
    ])
  })

  it('with the role reconciler and an account with a rate needs reconciler.rate, which workers leave unused', () => {
    const env = {
      ...brokers,
      BUSGATE_GATEWAY_URL: 'http://g',
      BUSGATE_GATEWAY_API_KEY: 'k',
      BUSGATE_GATEWAY_RATE: '50',
    }
    expect(missingFor({ ...env, BUSGATE_ROLES: 'reconciler' })).toEqual([
      'reconciler.rate (BUSGATE_RECONCILER_RATE) is required with the role reconciler, because its polls count against the rate of an account',
    ])
    const settings = loadSettings({ env: { ...env, BUSGATE_ROLES: 'reconciler', BUSGATE_RECONCILER_RATE: '5' } })
    expect(() => requireRunnable(settings)).not.toThrow()
    expect(settings.gateway.accounts.get('default')?.rate).toBe(45)
    expect(missingFor({ ...env, BUSGATE_RECONCILER_RATE: '50' })).toEqual([
      'reconciler.rate (BUSGATE_GATEWAY_RATE, BUSGATE_RECONCILER_RATE) must be below the rate of every account, or nothing is left to send with',
    ])
  })

  it('with only the role callbacks needs callbacks.secret, but no gateway', () => {
    expect(missingFor({ ...brokers, BUSGATE_ROLES: 'callbacks' })).toEqual([
      'callbacks.secret (BUSGATE_CALLBACKS_SECRET) is not set, but required by callbacks',
    ])
    const secret = { BUSGATE_CALLBACKS_SECRET: 'k1:0123456789abcdef' }
    expect(missingFor({ ...brokers, ...secret, BUSGATE_ROLES: 'callbacks' })).toEqual([])
  })

  it('with another account needs no key for the account default', () => {
    const env = { ...brokers, BUSGATE_GATEWAY_URL: 'https://g', BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'k' }
    expect(missingFor(env)).toEqual([])
  })
})

describe('settings that loadSettings did not make', () => {
  const tree = { kafka: { brokers: 'embedded' }, gateway: { url: 'https://g', apiKey: 'k' } }

  it.each([
    ['a worker', (settings: Settings) => createWorker(settings)],
    ['a producer', (settings: Settings) => createProducer(settings)],
    ['a reader', async (settings: Settings) => readResults(settings, { from: 'earliest' })],
    ['a wait', (settings: Settings) => waitForResult(settings, 1)],
    ['decoders', async (settings: Settings) => createDecoders(settings)],
    ['a bus', (settings: Settings) => openBus(settings)],
  ])('are refused by %s, which says where settings come from', async (_, start) => {
    for (const settings of [tree, {}, undefined] as never[])
      await expect((async () => start(settings))()).rejects.toThrow('settings must be what loadSettings returns')
  })

  it('come from an environment that is named', () => {
    for (const sources of [undefined, {}, { env: null }] as never[])
      expect(() => loadSettings(sources)).toThrow(
        'loadSettings: env must be given, such as process.env, or {} for none',
      )
  })
})

describe('problems that prevent a start', () => {
  const wrongIn = (env: Record<string, string>) =>
    problemsOf(() => loadRunnableSettings({ env })).map(({ path, what }) => `${path} ${what}`)

  it('include a missing registry only once, whether the brokers are valid, wrong or missing', () => {
    const gateway = { BUSGATE_GATEWAY_URL: 'http://g', BUSGATE_GATEWAY_API_KEY: 'k' }
    const registry = 'registry.url is required unless kafka.brokers is embedded'
    expect(wrongIn({ ...gateway, BUSGATE_KAFKA_BROKERS: 'b:9092' })).toEqual([registry])
    expect(wrongIn({ BUSGATE_KAFKA_BROKERS: 'b:9092' })).toEqual([
      registry,
      'gateway.url is not set, but required by worker',
      'gateway.apiKey is not set, but required by worker',
    ])
    expect(wrongIn({ ...gateway, BUSGATE_KAFKA_BROKERS: 'b' })).toEqual([
      'kafka.brokers item 1: expected addresses of the form host:port, or the word embedded',
      registry,
    ])
  })
})
