import { loadSettings, type Settings } from '../../src/config/index.ts'

const minimalEnv = {
  BUSGATE_KAFKA_BROKERS: 'embedded',
  BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
  BUSGATE_GATEWAY_API_KEY: 'test-key',
}

/** Builds settings that `run` accepts: the embedded bus and one account. @param overrides a tree as in the settings file */
export function buildSettings(overrides: object = {}): Settings {
  return loadSettings({ env: minimalEnv, overrides })
}
