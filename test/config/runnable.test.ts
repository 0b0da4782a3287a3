import { describe, expect, it } from 'vitest'
import { loadSettings, requireGateway, requireRunnable, type Settings, SettingsError } from '../../src/config/index.ts'
import { buildSettings } from '../support/settings.ts'

function missingFor(check: (settings: Settings) => void, env: Record<string, string>): string[] {
  try {
    check(loadSettings({ env }))
  } catch (error) {
    if (error instanceof SettingsError)
      return error.problems.map(({ path, where, what }) => `${path} (${where}) ${what}`)
    throw error
  }
  return []
}

const brokers = { BUSGATE_KAFKA_BROKERS: 'embedded' }

describe('a process', () => {
  it('starts with brokers, a gateway and a key', () => {
    expect(() => requireRunnable(buildSettings())).not.toThrow()
  })

  it('does not start without them, and names all three with their variables', () => {
    expect(missingFor(requireRunnable, {})).toEqual([
      'kafka.brokers (BUSGATE_KAFKA_BROKERS) is not set, and needed by worker, callbacks',
      'gateway.url (BUSGATE_GATEWAY_URL) is not set, and needed by worker',
      'gateway.apiKey (BUSGATE_GATEWAY_API_KEY) is not set, and needed by worker',
    ])
  })

  it('that only reconciles needs the gateway as well', () => {
    expect(
      missingFor(requireRunnable, { ...brokers, BUSGATE_ROLES: 'reconciler', BUSGATE_GATEWAY_API_KEY: 'k' }),
    ).toEqual(['gateway.url (BUSGATE_GATEWAY_URL) is not set, and needed by reconciler'])
  })

  it('that only receives callbacks needs no gateway, but the secret of the hook addresses', () => {
    expect(missingFor(requireRunnable, { ...brokers, BUSGATE_ROLES: 'callbacks' })).toEqual([
      'callbacks.secret (BUSGATE_CALLBACKS_SECRET) is not set, and needed by callbacks',
    ])
    const secret = { BUSGATE_CALLBACKS_SECRET: 'k1:0123456789abcdef' }
    expect(missingFor(requireRunnable, { ...brokers, ...secret, BUSGATE_ROLES: 'callbacks' })).toEqual([])
  })

  it('that runs with any account needs no key of the account default', () => {
    const env = { ...brokers, BUSGATE_GATEWAY_URL: 'https://g', BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'k' }
    expect(missingFor(requireRunnable, env)).toEqual([])
  })

  it('that only asks the gateway needs no brokers', () => {
    expect(missingFor(requireGateway, { BUSGATE_GATEWAY_URL: 'https://g', BUSGATE_GATEWAY_API_KEY: 'k' })).toEqual([])
    expect(missingFor(requireGateway, {})).toEqual([
      'gateway.url (BUSGATE_GATEWAY_URL) is not set',
      'gateway.apiKey (BUSGATE_GATEWAY_API_KEY) is not set',
    ])
  })
})
