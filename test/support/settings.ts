import { loadSettings, type Settings } from '../../src/config/index.ts'

const enough = {
  BUSGATE_KAFKA_BROKERS: 'embedded',
  BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
  BUSGATE_GATEWAY_API_KEY: 'test-key',
}

/** Settings that `run` accepts: the embedded bus and one account. @param overrides a tree like that of the file. */
export function buildSettings(overrides: object = {}): Settings {
  return loadSettings({ env: enough, overrides })
}
