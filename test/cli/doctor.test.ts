import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import { describe, expect, onTestFinished, test } from 'vitest'
import { examine } from '../../src/cli/commands/doctor.ts'
import { check } from '../../src/cli/doctor/check.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { busgateHere, startBusgate } from '../support/cli.ts'
import { diagnose } from '../support/doctor.ts'
import { scrape } from '../support/metrics.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { answerWith, portOf, scriptedServer } from '../support/scripted-server.ts'

const key = 'kX9-key-of-nobody'
const secret = 'k1:0123456789abcdef'

/** Valid settings for `run`, at addresses where nothing answers. */
const validEnv = {
  BUSGATE_KAFKA_BROKERS: '127.0.0.1:1',
  BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1',
  BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
  BUSGATE_GATEWAY_API_KEY: key,
}

async function sandbox(balance?: number) {
  const running = await startSandbox({ keys: [key], ...(balance !== undefined && { balance }) })
  onTestFinished(() => running.close())
  return running
}

describe('busgate doctor', () => {
  test('prints each finding with the repair below it, and exits 1 if a check failed', async () => {
    const { code, stdout, stderr } = await busgateHere(['doctor'], { env: validEnv })
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^ok {7}settings {2}valid, for the roles worker; callbacks is off: callbacks\.secret \(BUSGATE_CALLBACKS_SECRET\) is not set$/m,
    )
    expect(stdout).toMatch(/^failed {3}cluster {3}no broker can be used: .*ECONNREFUSED/m)
    expect(stdout).toMatch(/^ +→ check kafka\.brokers \(BUSGATE_KAFKA_BROKERS\), kafka\.ssl \(BUSGATE_KAFKA_SSL\), /m)
    expect(stdout).toMatch(/^skipped {2}topics {4}no broker answered$/m)
    expect(stderr).toMatch(/^\d failed, 0 warnings\.\n$/)
    expect(stdout + stderr).not.toContain(key)
  })

  test('prints one JSON object a line with --json', async () => {
    const { stdout } = await busgateHere(['doctor', '--json'], { env: validEnv })
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines).toContainEqual({ check: 'topics', state: 'skipped', what: 'no broker answered' })
    expect(lines).toContainEqual({
      check: 'gateway',
      state: 'failed',
      what: 'default: connect ECONNREFUSED 127.0.0.1:1 (UNREACHABLE)',
      mend: expect.stringContaining(
        'busgate gateway balance --account default, and check gateway.url (BUSGATE_GATEWAY_URL)',
      ),
    })
  })

  test('exits 130 if interrupted', async () => {
    const silent = await scriptedServer(() => {})
    const env = { ...validEnv, BUSGATE_GATEWAY_URL: silent.url }
    const running = startBusgate(['doctor'], { env })
    await expect.poll(() => silent.seen.requests.length, { timeout: 60_000 }).toBe(1)
    running.signal('SIGINT')
    expect((await running.ended).code).toBe(130)
  })

  test('reports a check that hangs or throws as failed, and skips the checks that depend on it', async () => {
    const checks = [
      check({ name: 'slow', about: '', needs: [], look: () => new Promise(() => {}) }),
      check({ name: 'broken', about: '', needs: [], look: () => Promise.reject(new Error('the disk is full')) }),
      check({ name: 'later', about: '', needs: ['cluster'], look: async () => ({ findings: [] }) }),
    ]
    const found: string[] = []
    for await (const { state, what } of examine(checks, { env: {} }, 20)) found.push(`${state}: ${what}`)
    expect(found).toEqual([
      'failed: the check took longer than 0.02 s',
      'failed: the disk is full',
      'skipped: no broker answered',
    ])
  })
})

describe('of the settings, busgate doctor', () => {
  test('reports everything wrong or missing, and runs no other check', async () => {
    const { of, all, mends } = await diagnose({ BUSGATE_GATEWAY_CONCURRENCY: 'many' })
    expect(mends('settings', 'failed').at(-1)).toBe(
      'set gateway.apiKey (BUSGATE_GATEWAY_API_KEY) to an-api-key, for example',
    )
    expect(of('settings')).toEqual([
      'failed: gateway.concurrency (BUSGATE_GATEWAY_CONCURRENCY): expected a whole number from 1 to 1024',
      'failed: kafka.brokers (BUSGATE_KAFKA_BROKERS): is not set, but required by worker, callbacks',
      'failed: registry.url (BUSGATE_REGISTRY_URL): is required unless kafka.brokers is embedded',
      'failed: gateway.url (BUSGATE_GATEWAY_URL): is not set, but required by worker',
      'failed: gateway.apiKey (BUSGATE_GATEWAY_API_KEY): is not set, but required by worker',
    ])
    expect(new Set(all.slice(5).map(({ state }) => state))).toEqual(new Set(['skipped']))
  })

  test('gives no repair that only repeats a contradiction', async () => {
    const { of, mends } = await diagnose({ ...validEnv, BUSGATE_GATEWAY_TIMEOUT: '1' }, ['settings'])
    expect(of('settings')).toEqual([expect.stringContaining('is not a setting; the nearest is')])
    expect(mends('settings', 'failed')).toEqual([undefined])
  })

  test('reports a missing one, and still runs the other checks', async () => {
    const { url } = await sandbox(7)
    const env = { BUSGATE_GATEWAY_URL: url, BUSGATE_GATEWAY_API_KEY: key }
    const { of } = await diagnose(env, ['settings', 'gateway', 'cluster'])
    expect(of('gateway')).toEqual(['ok: default: its key is accepted; 7 UAH'])
    expect(of('cluster')).toEqual([
      'skipped: kafka.brokers (BUSGATE_KAFKA_BROKERS) is not set: there are no brokers to check',
    ])
  })

  test('shows what each account may send, if that is limited', async () => {
    const env = {
      ...validEnv,
      BUSGATE_GATEWAY_COUNTRIES: 'UA,PL',
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: key,
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_COUNTRIES: 'RO',
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_MAX_PARTS: '1',
    }
    expect((await diagnose(env, ['settings'])).of('settings').slice(1)).toEqual([
      'ok: account shop sends only to RO, and SMS of at most 1 part',
      'ok: account default sends only to UA, PL',
    ])
  })

  test('warns, for each account, of quiet hours in which commands expire', async () => {
    const weekend = '21:00-09:00 Europe/Kyiv, Sat-Sun 00:00-24:00 Europe/Kyiv'
    const env = {
      ...validEnv,
      BUSGATE_GATEWAY_QUIET_HOURS: weekend,
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: key,
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_QUIET_HOURS: '21:00-09:00 Europe/Kyiv',
    }
    const warnings = async (maxAgeMs?: number) => {
      const more = maxAgeMs && { BUSGATE_COMMANDS_MAX_AGE_MS: String(maxAgeMs) }
      return (await diagnose({ ...env, ...more }, ['settings'])).of('settings').slice(1)
    }
    expect(await warnings()).toEqual([
      'warning: account default has quiet hours of 60 h, and commands live for 24 h: those written when the quiet hours begin expire unsent',
    ])
    expect(await warnings(61 * 3_600_000)).toEqual([])
  })
})

describe('of safety, busgate doctor', () => {
  const strong = `k1:${randomBytes(32).toString('base64url')}`
  const only = ['settings', 'safety']
  const fine = 'ok: no key, password, phone or text leaves this machine in plain text; no secret is weak'
  const plain = {
    BUSGATE_KAFKA_SASL_MECHANISM: 'plain',
    BUSGATE_KAFKA_SASL_USERNAME: 'u',
    BUSGATE_KAFKA_SASL_PASSWORD: 'p',
  }

  test.each([
    [
      'a gateway',
      { BUSGATE_GATEWAY_URL: 'http://gateway.example' },
      /^warning: gateway\.url begins with http: API keys/,
    ],
    [
      'a registry with a password',
      { BUSGATE_REGISTRY_URL: 'http://registry:8081', BUSGATE_REGISTRY_USERNAME: 'u', BUSGATE_REGISTRY_PASSWORD: 'pw' },
      /^warning: registry\.url begins with http: registry\.password/,
    ],
    [
      'messages to the brokers',
      { BUSGATE_KAFKA_BROKERS: 'broker-1:9092' },
      /^warning: kafka\.ssl is false: phones and texts can be read/,
    ],
    [
      'a PLAIN login at the brokers',
      { ...plain, BUSGATE_KAFKA_BROKERS: '127.0.0.1:9092,broker-1:9092' },
      /^warning: kafka\.ssl is false: the password, phones and texts can be read/,
    ],
    [
      'a login at the token endpoint',
      {
        BUSGATE_KAFKA_SASL_MECHANISM: 'oauthbearer',
        BUSGATE_KAFKA_SASL_TOKEN_ENDPOINT: 'http://login.example/token',
        BUSGATE_KAFKA_SASL_CLIENT_ID: 'u',
        BUSGATE_KAFKA_SASL_CLIENT_SECRET: 'pw',
      },
      /^warning: kafka\.sasl\.tokenEndpoint begins with http: kafka\.sasl\.clientSecret/,
    ],
  ])('warns of %s in plain text', async (_, env, expected) => {
    const { of } = await diagnose({ ...validEnv, ...env }, only)
    expect(of('safety')).toEqual([expect.stringMatching(expected)])
  })

  test.each([
    ['this machine', { ...plain, BUSGATE_GATEWAY_URL: 'http://[::1]:8080', BUSGATE_KAFKA_BROKERS: 'localhost:9092' }],
    ['a registry without a password', { BUSGATE_REGISTRY_URL: 'http://registry:8081' }],
    [
      'TLS everywhere',
      { ...plain, BUSGATE_GATEWAY_URL: 'https://a.example', BUSGATE_KAFKA_BROKERS: 'b:1', BUSGATE_KAFKA_SSL: 'true' },
    ],
  ])('does not warn of %s', async (_, env) => {
    expect((await diagnose({ ...validEnv, ...env }, only)).of('safety')).toEqual([fine])
  })

  test.each([
    ['k1:0123456789abcdef', 'the secret of k1'],
    [`${strong},old:${randomBytes(31).toString('base64url')}`, 'the secret of old'],
  ])('warns of a callbacks secret that is too short, without showing it', async (given, expected) => {
    const { all, of } = await diagnose({ ...validEnv, BUSGATE_CALLBACKS_SECRET: given }, only)
    expect(of('safety')).toEqual([`warning: callbacks.secret: ${expected} is shorter than 32 random bytes`])
    expect(JSON.stringify(all)).not.toContain(given.slice(3))
  })

  test.each([strong, `k1:${randomBytes(32).toString('hex')}`, `k1:${randomBytes(32).toString('base64')}`])(
    'accepts a callbacks secret of 32 random bytes',
    async given => {
      expect((await diagnose({ ...validEnv, BUSGATE_CALLBACKS_SECRET: given }, only)).of('safety')).toEqual([fine])
    },
  )
})

describe('of the gateway, busgate doctor', () => {
  const only = ['settings', 'gateway']

  test('tries each API key, shows the balance, and warns of a refused key while another one is accepted', async () => {
    const { url } = await sandbox(7)
    const env = { ...validEnv, BUSGATE_GATEWAY_URL: url, BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'another-key' }
    const { all, of, mends } = await diagnose(env, only)
    expect(of('gateway').toSorted()).toEqual([
      'ok: default: its key is accepted; 7 UAH',
      'warning: shop: the gateway refuses its key',
    ])
    expect(mends('gateway', 'warning')[0]).toContain('BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY')
    expect(JSON.stringify(all)).not.toContain('another-key')
    expect(JSON.stringify(all)).not.toContain(key)
  })

  test('fails if it accepts no key', async () => {
    const { url } = await sandbox(7)
    const keys = { BUSGATE_GATEWAY_API_KEY: 'mistyped', BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'another-key' }
    const { of } = await diagnose({ ...validEnv, ...keys, BUSGATE_GATEWAY_URL: url }, only)
    expect(of('gateway').toSorted()).toEqual([
      'failed: default: the gateway refuses its key',
      'failed: shop: the gateway refuses its key',
    ])
  })

  test('accepts a key whose balance is refused for a known reason', async () => {
    const { url } = await scriptedServer(
      answerWith('{"success":true,"data":[{"success":false,"error":"Operator not supported"}]}'),
    )
    const { of } = await diagnose({ ...validEnv, BUSGATE_GATEWAY_URL: url }, only)
    expect(of('gateway')).toEqual([
      'warning: default: its key is accepted, but not its question for the balance: Operator not supported',
    ])
  })

  test.each([
    [401, '', 'HTTP 401: the gateway, or a proxy in front of it, refused the sign-in', 'BUSGATE_GATEWAY_API_KEY'],
    [407, '', 'HTTP 407: the gateway, or a proxy in front of it, refused the sign-in', 'HTTPS_PROXY'],
    [404, '/gateway', 'HTTP 404', 'leave the path /gateway out of gateway.url (BUSGATE_GATEWAY_URL)'],
    [404, '', 'HTTP 404', 'BUSGATE_GATEWAY_URL'],
  ])('that answers HTTP %i at an address with the path "%s"', async (status, path, what, mend) => {
    const { url } = await scriptedServer(answerWith('', { status }))
    const { of, mends } = await diagnose({ ...validEnv, BUSGATE_GATEWAY_URL: `${url}${path}` }, only)
    expect(of('gateway')).toEqual([expect.stringContaining(`failed: default: ${what}`)])
    expect(mends('gateway', 'failed')).toEqual([expect.stringContaining(mend)])
  })

  test('warns of an account without money', async () => {
    const { url } = await sandbox(0)
    const { of } = await diagnose({ ...validEnv, BUSGATE_GATEWAY_URL: url }, only)
    expect(of('gateway')).toEqual(['warning: default: its key is accepted; 0 UAH'])
  })

  test('reports an untrusted certificate and names the setting of its CA', async () => {
    const pem = readFileSync(new URL('../fixtures/self-signed.pem', import.meta.url))
    const server = createHttpsServer({ key: pem, cert: pem })
    const port = await portOf(server)
    const { of, mends } = await diagnose({ ...validEnv, BUSGATE_GATEWAY_URL: `https://127.0.0.1:${port}` }, only)
    expect(of('gateway')[0]).toMatch(/^failed: default: .*self-signed certificate.* \(UNREACHABLE\)$/)
    expect(mends('gateway', 'failed')[0]).toContain('BUSGATE_GATEWAY_SSL_CA')
  })
})

describe('of registry and brokers, busgate doctor reports', () => {
  const wrongPath = 'the registry answers 404: check registry.url (BUSGATE_REGISTRY_URL), its path included'

  test.each([
    ['a server that is not a registry', 'not here'],
    ['a registry whose path is missing', '{"error_code":404,"message":"HTTP 404 Not Found"}'],
  ])('%s', async (_, body) => {
    const { url } = await scriptedServer(answerWith(body, { status: 404 }))
    const env = { ...validEnv, BUSGATE_REGISTRY_URL: url }
    const { of } = await diagnose(env, ['settings', 'registry', 'schemas'])
    expect(of('registry')).toEqual([`failed: ${wrongPath}`])
    expect(of('schemas')).toEqual(['skipped: no registry was reached'])
    expect(await busgateHere(['schemas', 'check'], { env })).toMatchObject({
      code: 1,
      stderr: `busgate: ${wrongPath}\n`,
    })
  })

  test('a registry that refuses the login', async () => {
    const server = await scriptedServer(
      answerWith('{"error_code":401}', { status: 401, headers: { connection: 'close' } }),
    )
    const login = { BUSGATE_REGISTRY_USERNAME: 'u', BUSGATE_REGISTRY_PASSWORD: 'pw-of-nobody' }
    const { all, of } = await diagnose({ ...validEnv, ...login, BUSGATE_REGISTRY_URL: server.url }, [
      'settings',
      'registry',
    ])
    expect(of('registry')[0]).toBe('failed: the registry refuses registry.username and registry.password (401)')
    expect(JSON.stringify(all)).not.toContain('pw-of-nobody')
  })

  test('schema versions that the registry does not give, and how many, beside those that it gives', async () => {
    const proxy = await startProxy()
    proxy.answer = ({ path }) => {
      if (path.endsWith('/versions')) return { body: '[1,2,3]' }
      const version = Number(/versions\/(\d+)$/.exec(path)?.[1])
      if (version > 1) return { status: 500, body: '{"error_code":50001,"message":"broken"}' }
      return { body: JSON.stringify({ compatibilityLevel: 'FULL_TRANSITIVE', version: 1, id: 1 }) }
    }
    const env = { ...validEnv, BUSGATE_REGISTRY_URL: proxy.url }
    const { of } = await diagnose(env, ['settings', 'registry', 'schemas'])
    expect(of('schemas')).toContainEqual(
      expect.stringMatching(/^warning: busgate\.results-value: 2 versions cannot be read, version [23]: /),
    )
  })

  test('a server that is not a broker', async () => {
    const { url } = await sandbox()
    const env = { ...validEnv, BUSGATE_KAFKA_BROKERS: new URL(url).host }
    const { of } = await diagnose(env, ['settings', 'cluster', 'topics'])
    expect(of('cluster')[0]).toMatch(/^failed: no broker can be used/)
    expect(of('topics')).toEqual(['skipped: no broker answered'])
  })

  test('nothing but skipped checks on the embedded bus', async () => {
    const env = { ...validEnv, BUSGATE_KAFKA_BROKERS: 'embedded', BUSGATE_REGISTRY_URL: '' }
    const { of } = await diagnose(env, ['settings', 'registry', 'cluster'])
    expect(of('cluster')[0]).toContain('skipped: kafka.brokers is embedded')
    expect(of('registry')[0]).toContain('skipped: registry.url (BUSGATE_REGISTRY_URL) is not set')
  })
})

describe('of the public address of the receiver, busgate doctor', () => {
  const only = ['settings', 'receiver']

  test('finds out whether another process receives there, with the same secret or another', async () => {
    const other = startBusgate(['run'], {
      env: {
        ...validEnv,
        BUSGATE_KAFKA_BROKERS: 'embedded',
        BUSGATE_REGISTRY_URL: '',
        BUSGATE_ROLES: 'callbacks',
        BUSGATE_CALLBACKS_SECRET: secret,
        BUSGATE_CALLBACKS_PORT: '0',
        BUSGATE_TELEMETRY_PORT: '0',
      },
    })
    const { callbacks, telemetry } = JSON.parse(await other.line('worker.started'))
    const env = { ...validEnv, BUSGATE_ROLES: 'worker', BUSGATE_CALLBACKS_PUBLIC_URL: `http://127.0.0.1:${callbacks}` }
    const same = await diagnose({ ...env, BUSGATE_CALLBACKS_SECRET: secret }, only)
    const fine = expect.stringMatching(/^ok: .* leads to a receiver that accepts addresses of this secret$/)
    expect(same.of('receiver')).toEqual([fine])
    const elsewhere = { ...env, BUSGATE_CALLBACKS_PUBLIC_URL: `http://0.0.0.0:${callbacks}` }
    expect((await diagnose({ ...elsewhere, BUSGATE_CALLBACKS_SECRET: secret }, only)).of('receiver')).toEqual([
      fine,
      'warning: callbacks can be read and repeated on the network: the address begins with http',
    ])
    expect(JSON.stringify(same.all)).not.toContain('0123456789abcdef')
    const rejections = [...(await scrape(telemetry))].filter(([name]) => name.includes('callback_rejections_total'))
    expect(rejections.map(([, value]) => value).filter(value => value !== 0)).toEqual([])
    const another = await diagnose({ ...env, BUSGATE_CALLBACKS_SECRET: 'k1:fedcba9876543210' }, only)
    expect(another.of('receiver')).toEqual([expect.stringMatching(/^failed: .* refuses addresses made here/)])
    const unknown = await diagnose({ ...env, BUSGATE_CALLBACKS_SECRET: 'k2:fedcba9876543210' }, only)
    expect(unknown.of('receiver')).toEqual([expect.stringMatching(/^failed: .* does not know the first key/)])
  })

  test('says nothing without callbacks.publicUrl', async () => {
    const { of } = await diagnose({ ...validEnv, BUSGATE_ROLES: 'callbacks', BUSGATE_CALLBACKS_SECRET: secret }, only)
    expect(of('receiver')).toEqual([
      'skipped: callbacks.publicUrl (BUSGATE_CALLBACKS_PUBLIC_URL) is not set: messages sent with these settings get no hook',
    ])
  })

  test('warns if it leads elsewhere or nowhere', async () => {
    const proxy = await startProxy()
    proxy.answer = () => ({ status: 404, body: 'not here' })
    const env = { ...validEnv, BUSGATE_CALLBACKS_SECRET: secret }
    const other = await diagnose({ ...env, BUSGATE_CALLBACKS_PUBLIC_URL: proxy.url }, only)
    expect(other.of('receiver')).toEqual([`warning: ${proxy.url} does not lead to a receiver: it answers 404`])
    expect(proxy.requests).toHaveLength(1)
    expect(JSON.stringify(other.all)).not.toContain(proxy.requests[0]!.path.slice('/hooks/'.length))
    const nowhere = await diagnose({ ...env, BUSGATE_CALLBACKS_PUBLIC_URL: 'http://127.0.0.1:1' }, only)
    expect(nowhere.of('receiver')[0]).toMatch(/^warning: http:\/\/127\.0\.0\.1:1 cannot be reached: /)
  })
})
