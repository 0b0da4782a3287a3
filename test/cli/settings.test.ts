import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { definitions, loadSettings } from '../../src/config/index.ts'
import { busgateHere } from '../support/cli.ts'

const validEnv = {
  BUSGATE_KAFKA_BROKERS: 'embedded',
  BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
  BUSGATE_GATEWAY_API_KEY: 'not-to-be-shown',
}

const withRates = `
kafka: { brokers: [b1:9092], ssl: true, sessionTimeoutMs: 8000 }
registry: { url: http://registry:8081 }
gateway:
  url: http://127.0.0.1:1
  rate: 50
  quietHours: 21:00-09:00 Europe/Kyiv
  accounts: { shop: { rate: 30 } }
  tenantWeights: { shop-a: 3 }
callbacks: { publicUrl: https://hooks.example }
reconciler: { rate: 5, expect: { sms: 60000 } }
doubts: { policies: { call/otp: AT_LEAST_ONCE } }
roles: [worker, reconciler]
`

describe('config check', () => {
  test('accepts settings that run can start with', async () => {
    const { code, stdout, stderr } = await busgateHere(['config', 'check'], { env: validEnv })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('valid')
  })

  test.each(['HTTPS_PROXY', 'https_proxy'])('names %s if its value cannot be used, but not the value', async name => {
    const env = { ...validEnv, BUSGATE_GATEWAY_URL: 'https://gateway.example' }
    for (const value of ['http://me:s3cret%@proxy:3128', 's3cret:3128', 'http://s3cret:99999']) {
      const { code, stderr } = await busgateHere(['config', 'check'], { env: { ...env, [name]: value } })
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`  ${name}: `) })
      expect(stderr).not.toContain('s3cret')
      for (const unused of [
        validEnv,
        { ...env, BUSGATE_ROLES: 'callbacks', BUSGATE_CALLBACKS_SECRET: 'k1:sixteen-characters' },
      ]) {
        const { code } = await busgateHere(['config', 'check'], { env: { ...unused, [name]: value } })
        expect(code).toBe(0)
      }
    }
  })

  test('reports missing settings, contradictions and too long hook addresses together', async () => {
    const env = {
      BUSGATE_GATEWAY_TIMEOUT_MS: '4000',
      BUSGATE_DOUBTS_WAIT_MS: '1000',
      BUSGATE_CALLBACKS_PUBLIC_URL: `https://hooks.example/${'x'.repeat(250)}`,
      BUSGATE_CALLBACKS_SECRET: 'k1:0123456789abcdef',
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'k',
    }
    const { code, stderr } = await busgateHere(['config', 'check'], { env })
    expect(code).toBe(2)
    expect(stderr.match(/^ {2}[a-zA-Z.]+/gm)?.map(line => line.trim())).toEqual([
      'doubts.waitMs',
      'kafka.brokers',
      'registry.url',
      'gateway.url',
      'callbacks.publicUrl',
    ])
  })
})

describe('config print', () => {
  test('shows the settings in effect as YAML, with secrets masked', async () => {
    const { code, stdout } = await busgateHere(['config', 'print'], { env: validEnv })
    expect(code).toBe(0)
    expect(stdout).not.toContain('not-to-be-shown')
    expect(parse(stdout)).toMatchObject({
      kafka: { brokers: 'embedded', groupId: 'busgate' },
      gateway: { apiKey: '***' },
    })
  })

  test('prints settings that load again to the same, with the secrets from where they were', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'busgate-printed-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const given = join(folder, 'given.yaml')
    const printed = join(folder, 'printed.yaml')
    await writeFile(join(folder, 'key'), 'key-of-shop')
    await writeFile(given, withRates)
    const env = {
      BUSGATE_CALLBACKS_SECRET: 'k1:0123456789abcdef',
      BUSGATE_GATEWAY_API_KEY: 'key-of-default',
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY_FILE: join(folder, 'key'),
    }
    const { stdout } = await busgateHere(['config', 'print', '--config', given], { env })
    expect(parse(stdout)).toMatchObject({ gateway: { rate: 50, accounts: { shop: { rate: 30 } } } })
    await writeFile(printed, stdout)
    expect(loadSettings({ file: printed, env })).toEqual(loadSettings({ file: given, env }))
    const later = { ...env, BUSGATE_DOUBTS_POLICY: 'AT_MOST_ONCE', BUSGATE_RECONCILER_EXPECT_MS: '61000' }
    expect(loadSettings({ file: printed, env: later })).toEqual(loadSettings({ file: given, env: later }))
    const again = await busgateHere(['config', 'print', '--config', printed], { env })
    expect(again.stdout).toBe(stdout)

    const { code, stderr } = await busgateHere(['config', 'check', '--config', printed], { env: {} })
    expect(code).toBe(2)
    expect(stderr).toContain('gateway.apiKey')
    expect(stderr).toContain('is the mask that config print prints: give the secret itself')
  })

  test('prints one JSON object on one line with --json', async () => {
    const { stdout } = await busgateHere(['config', 'print', '--json'], { env: validEnv })
    expect(stdout.trimEnd()).not.toContain('\n')
    expect(JSON.parse(stdout)).toMatchObject({ topics: { results: 'busgate.results' } })
  })
})

test.each([
  ['schemas check', []],
  ['send', ['--id=1', '--phone=380501234567', '--type=sms', '--message', '{"sms_message":"Hi"}']],
])('busgate %s names the setting of a registry that refuses connections', async (name, flags) => {
  const env = { BUSGATE_KAFKA_BROKERS: '127.0.0.1:1', BUSGATE_REGISTRY_URL: 'http://127.0.0.1:2' }
  const { code, stderr } = await busgateHere([...name.split(' '), ...flags], { env })
  expect(code).toBe(1)
  expect(stderr).toMatch(/ECONNREFUSED.*heck registry\.url \(BUSGATE_REGISTRY_URL\)/)
})

test('config print reports an unknown variable once', async () => {
  const { stderr } = await busgateHere(['config', 'print'], { env: { BUSGATE_GATEWAY_TIMEOUT: '1' } })
  expect(stderr).toContain('  BUSGATE_GATEWAY_TIMEOUT: is not a setting; the nearest is BUSGATE_GATEWAY_TIMEOUT_MS.')
})

test('topics create with unreachable brokers exits 1 and says what to check', async () => {
  const env = { BUSGATE_KAFKA_BROKERS: '127.0.0.1:1', BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' }
  const { code, stderr } = await busgateHere(['topics', 'create'], { env })
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^busgate: connect ECONNREFUSED 127\.0\.0\.1:1: check kafka\.brokers \(BUSGATE_KAFKA_BROKERS\).*busgate doctor/,
  )
})

describe('hooks secret', () => {
  test('prints a new valid secret of 32 random bytes each time, which can be added to the one before', async () => {
    const one = await busgateHere(['hooks', 'secret'])
    const other = await busgateHere(['hooks', 'secret'])
    expect(one.code).toBe(0)
    expect(one.stdout).toMatch(/^\d{4}[a-z\d]{4}:[\w-]{43}\n$/)
    expect(Buffer.from(one.stdout.trim().split(':')[1]!, 'base64url')).toHaveLength(32)
    expect(other.stdout).not.toBe(one.stdout)
    const { callbacks } = loadSettings({ env: { BUSGATE_CALLBACKS_SECRET: one.stdout + other.stdout } })
    expect(callbacks.secret?.reveal()).toHaveLength(2)
  })

  test('accepts a kid, and refuses an invalid one', async () => {
    expect((await busgateHere(['hooks', 'secret', '--kid', 'shop-2'])).stdout).toMatch(/^shop-2:/)
    const { code, stdout, stderr } = await busgateHere(['hooks', 'secret', '--kid', 'far-too-long'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--kid: expected 1 to 8 letters, digits, - or _')
  })
})

describe('config explain', () => {
  test('describes a setting given by its name or variable', async () => {
    for (const name of ['kafka.sasl.password', 'BUSGATE_KAFKA_SASL_PASSWORD_FILE']) {
      const { code, stdout } = await busgateHere(['config', 'explain', name])
      expect(code).toBe(0)
      expect(stdout.split('\n')).toEqual([
        'kafka.sasl.password',
        '  Password at the brokers.',
        '  variable    BUSGATE_KAFKA_SASL_PASSWORD',
        '  or its file kafka.sasl.passwordFile, BUSGATE_KAFKA_SASL_PASSWORD_FILE',
        '  a value is  a secret: text',
        '  default     none',
        '  example     a-password',
        '',
      ])
    }
  })

  test('accepts the beginning or the last part of names', async () => {
    const pathsOf = async (...args: string[]) => {
      const { stdout } = await busgateHere(['config', 'explain', ...args, '--json'])
      return stdout
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).path)
    }
    expect(await pathsOf('telemetry')).toEqual(['telemetry.port', 'telemetry.host', 'telemetry.logLevel'])
    expect(await pathsOf('BUSGATE_GATEWAY_MAX')).toEqual([
      'gateway.maxParts',
      'gateway.maxOperations',
      'gateway.maxBytes',
    ])
    expect(await pathsOf('gateway.accounts.shop.rate')).toEqual(['gateway.accounts.NAME.rate'])
    expect(await pathsOf('gateway.accounts.shop')).toEqual(
      ['apiKey', 'rate', 'quietHours', 'countries', 'maxParts'].map(key => `gateway.accounts.NAME.${key}`),
    )
    expect(await pathsOf('kafka.ssl')).toEqual(['kafka.ssl', 'kafka.ssl.ca', 'kafka.ssl.cert', 'kafka.ssl.key'])
    expect(await pathsOf('sasl.username')).toEqual(['kafka.sasl.username'])
    expect((await pathsOf()).length).toBe(Object.keys(definitions).length)
  })

  test('suggests the nearest name for an unknown setting', async () => {
    const { code, stdout, stderr } = await busgateHere(['config', 'explain', 'gatway.lingerms'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('there is no setting gatway.lingerms; the nearest is gateway.lingerMs')
  })
})
