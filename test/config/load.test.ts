import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { definitions, loadSettings, SettingsError, type SettingsTree, variableOf } from '../../src/config/index.ts'
import { Secret } from '../../src/config/secret.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import { countryCodes } from '../../src/vocabulary/countries.ts'
import { errorCodes } from '../../src/vocabulary/lists.ts'

const folder = mkdtempSync(join(tmpdir(), 'busgate-settings-'))
afterAll(() => rmSync(folder, { recursive: true }))

function yaml(text: string): string {
  const file = join(folder, 'busgate.yaml')
  writeFileSync(file, text)
  return file
}

/** The problems of wrong settings, each as `path | where | what`. */
function problemsOf(sources: { file?: string; env?: Record<string, string>; overrides?: object }): string[] {
  try {
    loadSettings({ env: {}, ...sources })
  } catch (error) {
    if (error instanceof SettingsError)
      return error.problems.map(({ path, where, what }) => [path, where, what].join(' | '))
    throw error
  }
  return []
}

/** With the secrets as text, so that they can be compared. */
function revealed(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (value instanceof Map) return new Map([...value].map(([key, child]) => [key, revealed(child)]))
  if (Array.isArray(value)) return value.map(revealed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, revealed(child)]))
}

describe('settings', () => {
  it('have defaults, some of which depend on other settings', () => {
    const { kafka, gateway, doubts, reconciler, callbacks } = loadSettings({ env: {} })
    expect(kafka).toMatchObject({ brokers: undefined, ssl: false, sasl: undefined, drainMs: 9_000 })
    expect(gateway).toMatchObject({ accounts: new Map(), errorTexts: {}, tenantWeights: {} })
    expect(callbacks).toMatchObject({ publicUrl: undefined, secret: undefined })
    const rare = ['telegram', 'call/otp', 'hlr']
    expect(doubts.policies).toEqual(
      Object.fromEntries(sendTypes.map(type => [type, rare.includes(type) ? 'AT_MOST_ONCE' : 'AT_LEAST_ONCE'])),
    )
    expect(reconciler.expect).toEqual(Object.fromEntries(sendTypes.map(type => [type, 900_000])))
  })

  it('prefer the environment to the file, and the file to the default', () => {
    const file = yaml('gateway:\n  lingerMs: 5\n  maxOperations: 50\n')
    const { gateway } = loadSettings({ file, env: { BUSGATE_GATEWAY_MAX_OPERATIONS: '25' } })
    expect([gateway.concurrency, gateway.lingerMs, gateway.maxOperations]).toEqual([16, 5, 25])
  })

  it('lose the slash at the end of an address', () => {
    const { callbacks } = loadSettings({
      env: {
        BUSGATE_CALLBACKS_PUBLIC_URL: 'https://a.example/b/',
        BUSGATE_CALLBACKS_SECRET: 'k1:at-least-16-characters',
      },
    })
    expect(callbacks.publicUrl).toBe('https://a.example/b')
  })

  const publicUrlOf = (url: string) => {
    const env = { BUSGATE_CALLBACKS_PUBLIC_URL: url, BUSGATE_CALLBACKS_SECRET: 'k1:at-least-16-characters' }
    return loadSettings({ env }).callbacks.publicUrl
  }

  it.each([
    ['https://пошта.укр/кол', 'https://xn--80a1acn3a.xn--j1amh/%D0%BA%D0%BE%D0%BB'],
    ['HTTPS://Hooks.Example:443/A/../B//', 'https://hooks.example/B'],
    ['  https://hooks.example\n', 'https://hooks.example'],
    ['http://[::1]:8080/', 'http://[::1]:8080'],
  ])('write the address %s as %s', (written, normal) => {
    expect(publicUrlOf(written)).toBe(normal)
  })

  it('refuse an address with a blank or an invisible character at any place', () => {
    const url = 'https://hooks.example/a/b'
    const blank = fc.constantFrom(...' \t\n\r\v\u00a0\u00ad\u200b\u2028\u2060\u202e\ufeff\0\x1b')
    fc.assert(
      fc.property(fc.integer({ min: 1, max: url.length - 1 }), blank, (at, blank) => {
        expect(() => publicUrlOf(url.slice(0, at) + blank + url.slice(at))).toThrow(
          /callbacks\.publicUrl.*(must not contain blanks or invisible characters|expected an http or https address)/,
        )
      }),
    )
  })

  it('keep the same address if it is read again, whatever it is', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: false, withFragments: false }), url => {
        const once = publicUrlOf(url)!
        expect(publicUrlOf(once)).toBe(once)
        expect(once).toMatch(/^https?:\/\/[!-~]*[^/]$/)
      }),
    )
  })

  it.each(['/api/json.php', '/api/json.php/', '/proxy/API/JSON.PHP', '/json.php'])(
    'refuse a gateway.url that ends with %s, and say that it is appended',
    path => {
      expect(problemsOf({ env: { BUSGATE_GATEWAY_URL: `https://gateway.example${path}` } })).toEqual([
        'gateway.url | BUSGATE_GATEWAY_URL | must not end with /api/json.php, which busgate appends: leave it out',
      ])
    },
  )

  it('come from the file named by --config, or else by BUSGATE_CONFIG', () => {
    const env = { BUSGATE_CONFIG: yaml('roles: reconciler') }
    expect(loadSettings({ env }).roles).toEqual(['reconciler'])
    expect(problemsOf({ file: join(folder, 'absent.yaml'), env })).toEqual([
      `--config | --config | cannot read ${folder}/absent.yaml (ENOENT)`,
    ])
  })

  it('turn TLS on by a flag or by certificates', () => {
    const certificates = { BUSGATE_KAFKA_SSL_CA: 'ca', BUSGATE_KAFKA_SSL_CERT: 'cert', BUSGATE_KAFKA_SSL_KEY: 'key' }
    const revealed = ({ ssl }: ReturnType<typeof loadSettings>['kafka']) =>
      typeof ssl === 'boolean' ? ssl : [ssl.ca?.reveal(), ssl.cert?.reveal(), ssl.key?.reveal()]
    expect(revealed(loadSettings({ env: {} }).kafka)).toBe(false)
    expect(revealed(loadSettings({ env: { BUSGATE_KAFKA_SSL: 'true' } }).kafka)).toBe(true)
    expect(revealed(loadSettings({ env: certificates }).kafka)).toEqual(['ca', 'cert', 'key'])
    const file = yaml('kafka: { ssl: { ca: ca } }')
    expect(revealed(loadSettings({ file, env: {} }).kafka)).toEqual(['ca', undefined, undefined])
  })

  it('mean the same in a file and in variables', () => {
    const file = yaml(`
kafka: { brokers: [b1:9092, "[::1]:9092"], ssl: true, sasl: { mechanism: plain, username: u, password: p } }
registry: { url: http://registry:8081/ }
gateway:
  voiceHook: false
  rate: 12.5
  errorTexts: { No such sender: SENDER_INVALID }
  notFoundTexts: [unknown id]
  accounts: { shop2: { apiKey: k2, rate: 3 } }
doubts: { policies: { call/otp: AT_LEAST_ONCE, viber+sms: AT_MOST_ONCE } }
`)
    const fromFile = loadSettings({ file, env: {} })
    const fromVariables = loadSettings({
      env: {
        BUSGATE_KAFKA_BROKERS: 'b1:9092, [::1]:9092',
        BUSGATE_KAFKA_SSL: 'true',
        BUSGATE_KAFKA_SASL_MECHANISM: 'plain',
        BUSGATE_KAFKA_SASL_USERNAME: 'u',
        BUSGATE_KAFKA_SASL_PASSWORD: 'p',
        BUSGATE_REGISTRY_URL: 'http://registry:8081',
        BUSGATE_GATEWAY_VOICE_HOOK: 'false',
        BUSGATE_GATEWAY_RATE: '12.5',
        BUSGATE_GATEWAY_ERROR_TEXTS: '{"No such sender":"SENDER_INVALID"}',
        BUSGATE_GATEWAY_ACCOUNTS_SHOP2_API_KEY: 'k2',
        BUSGATE_GATEWAY_ACCOUNTS_SHOP2_RATE: '3',
        BUSGATE_DOUBTS_POLICIES_CALL_OTP: 'AT_LEAST_ONCE',
        BUSGATE_DOUBTS_POLICIES_VIBER_SMS: 'AT_MOST_ONCE',
        BUSGATE_GATEWAY_NOT_FOUND_TEXTS: 'unknown id',
      },
    })
    expect(revealed(fromFile)).toEqual(revealed(fromVariables))
    expect(fromFile.kafka.brokers).toEqual(['b1:9092', '[::1]:9092'])
    expect(fromFile.gateway.errorTexts).toEqual({ 'No such sender': 'SENDER_INVALID' })
    expect(fromFile.doubts.policies).toMatchObject({ 'call/otp': 'AT_LEAST_ONCE', 'viber+sms': 'AT_MOST_ONCE' })
  })

  it('give each account its key and rate, by default the general rate', () => {
    const { accounts } = loadSettings({
      env: {
        BUSGATE_GATEWAY_API_KEY: 'key-of-default',
        BUSGATE_GATEWAY_RATE: '100',
        BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'key-of-shop',
        BUSGATE_GATEWAY_ACCOUNTS_SHOP_RATE: '7',
      },
    }).gateway
    const seen = [...accounts].map(([name, { apiKey, rate }]) => [name, apiKey.reveal(), rate]).sort()
    expect(seen).toEqual([
      ['default', 'key-of-default', 100],
      ['shop', 'key-of-shop', 7],
    ])
  })

  it('give each account its quiet hours, by default the general ones', () => {
    const env = {
      BUSGATE_GATEWAY_API_KEY: 'key-of-default',
      BUSGATE_GATEWAY_QUIET_HOURS: '21:00-09:00 Europe/Kyiv, Sat-Sun 00:00-24:00 Europe/Kyiv',
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'key-of-shop',
      BUSGATE_GATEWAY_ACCOUNTS_SHOP_QUIET_HOURS: '22:00-07:00 America/New_York',
    }
    const quietHours = (vars: NodeJS.ProcessEnv) =>
      [...loadSettings({ env: vars }).gateway.quietHours].map(([name, windows]) => [name, ...windows]).sort()
    const expected = [
      ['default', '21:00-09:00 Europe/Kyiv', 'Sat-Sun 00:00-24:00 Europe/Kyiv'],
      ['shop', '22:00-07:00 America/New_York'],
    ]
    expect(quietHours(env)).toEqual(expected)
    // busgate ui and the command line show quiet hours without an API key
    const { BUSGATE_GATEWAY_API_KEY: _, BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: _key, ...keyless } = env
    expect(quietHours(keyless)).toEqual(expected)
    expect(quietHours({ BUSGATE_GATEWAY_API_KEY: 'k' })).toEqual([])
  })

  it.each([
    ['21:00-09:00', /expected \[DAYS\] HH:MM-HH:MM ZONE/],
    ['9:00-21:00 Europe/Kyiv', /expected \[DAYS\]/],
    ['21:00-25:00 Europe/Kyiv', /expected \[DAYS\]/],
    ['21:00-09:00 Europe/Kiew', /needs a time zone of the IANA list/],
    ['21:00-09:00 +02:00', /needs a time zone/],
    ['Sut 21:00-09:00 Europe/Kyiv', /has an unknown day: use Mon, Tue/],
    ['09:00-09:00 Europe/Kyiv', /begins and ends at the same time/],
    ['00:00-24:00 Europe/Kyiv', /leaves no time to send: name the days/],
    ['09:00-21:00 Europe/Kyiv, 20:00-09:00 Europe/Kyiv', /leaves no time to send/],
    ['Mon-Sat 00:00-24:00 Europe/Kyiv, Sat 12:00-24:00 Europe/Kyiv, Sun 00:00-24:00 Europe/Kyiv', /leaves no time/],
  ])('refuse quiet hours such as %s, and say what is wrong', (quietHours, expected) => {
    const [problem, ...others] = problemsOf({ env: { BUSGATE_GATEWAY_QUIET_HOURS: quietHours } })
    expect(problem).toMatch(/^gateway\.quietHours \| BUSGATE_GATEWAY_QUIET_HOURS \| /)
    expect(problem).toMatch(expected)
    expect(others).toEqual([])
  })

  it('accept a time zone of the IANA list by a name with a slash, or UTC, and no other', () => {
    const refused = [
      'BST',
      'EST',
      'IST',
      'CET',
      'EET',
      'GMT',
      'MST7MDT',
      'Z',
      'utc',
      'UTC+2',
      'Zulu',
      'Japan',
      'UTC/',
      '/UTC',
    ]
    for (const zone of [...Intl.supportedValuesOf('timeZone'), 'Etc/UTC', 'UTC']) {
      const isClear = zone.includes('/') || zone === 'UTC'
      const problems = problemsOf({ env: { BUSGATE_GATEWAY_QUIET_HOURS: `21:00-09:00 ${zone}` } })
      expect([zone, problems.length]).toEqual([zone, isClear ? 0 : 1])
    }
    for (const zone of refused) {
      const [problem] = problemsOf({ env: { BUSGATE_GATEWAY_QUIET_HOURS: `21:00-09:00 ${zone}` } })
      expect(problem).toContain('needs a time zone of the IANA list with a slash, such as Europe/Kyiv, or UTC')
    }
  })

  it.each([
    ['ua', /two capital letters of ISO 3166, such as UA or GB \(not UK\)/],
    ['UKR', /two capital letters of ISO 3166/],
    ['804', /two capital letters/],
    ['UK', /GB \(not UK\)/],
    ['EU', /two capital letters/],
    ['UA;PL', /two capital letters/],
    [',', /expected at least one/],
    ['UA,PL,UA', /has the same value twice/],
  ])('refuse countries such as %s, and say what is wrong', (countries, expected) => {
    const [problem, ...others] = problemsOf({ env: { BUSGATE_GATEWAY_COUNTRIES: countries } })
    expect(problem).toMatch(/^gateway\.countries(\[\d\])? \| BUSGATE_GATEWAY_COUNTRIES \| /)
    expect(problem).toMatch(expected)
    expect(others).toEqual([])
  })

  it('take Norway for a country, and say what YAML 1.1 makes of it', () => {
    const norway = (text: string) => loadSettings({ file: yaml(`gateway:\n  countries: ${text}\n`), env: {} })
    expect(norway('[NO, SE]').gateway.countries.general).toEqual(['NO', 'SE'])
    expect(() => norway('[false, SE]')).toThrow('in quotes if YAML reads it as something else, such as "NO"')
  })

  it('take every country that a phone can be of', () => {
    const countries = countryCodes.join(', ')
    expect(loadSettings({ env: { BUSGATE_GATEWAY_COUNTRIES: countries } }).gateway.countries.general).toEqual(
      countryCodes,
    )
  })

  it.each(['quietHours', 'countries', 'maxParts'] as const)(
    'refuse %s of an account without a key, where others have one',
    name => {
      const accounts = { shop: { [name]: definitions[`gateway.${name}`].example } }
      expect(() => loadSettings({ env: {}, overrides: { gateway: { apiKey: 'k', accounts } } })).toThrow(
        `an account has ${name} but no apiKey`,
      )
      expect(() => loadSettings({ env: {}, overrides: { gateway: { accounts } } })).not.toThrow()
    },
  )

  it('refuse quiet hours if all command topics are urgent, because they would have no effect', () => {
    const env = { BUSGATE_GATEWAY_QUIET_HOURS: '21:00-09:00 Europe/Kyiv', BUSGATE_TOPICS_COMMANDS: 'only.one' }
    expect(problemsOf({ env })).toEqual([expect.stringContaining('has no effect: topics.commands names one topic')])
  })

  it('apply doubts.policy to types without their own policy', () => {
    const { policies } = loadSettings({ env: { BUSGATE_DOUBTS_POLICY: 'AT_MOST_ONCE' } }).doubts
    expect(new Set(Object.values(policies))).toEqual(new Set(['AT_MOST_ONCE']))
  })

  it.each([
    ['nine tenths of the session time-out', 20_000, 30_000, 18_000],
    ['the time-out of a request', 45_000, 8000, 8000],
  ])('let a rebalance wait for answers for at most %s', (_, sessionTimeoutMs, timeoutMs, drainMs) => {
    const overrides = { kafka: { sessionTimeoutMs }, gateway: { timeoutMs } }
    expect(loadSettings({ env: {}, overrides }).kafka.drainMs).toBe(drainMs)
  })

  it('treat an empty variable or file entry as unset', () => {
    const file = yaml('gateway:\n  url:\nregistry:\ncallbacks: {}\n')
    expect(loadSettings({ file, env: { BUSGATE_KAFKA_BROKERS: '' } }).gateway.url).toBeUndefined()
  })

  it('ignore the variables that Kubernetes adds for a service named busgate', () => {
    const env = {
      BUSGATE_SERVICE_HOST: '10.0.0.1',
      BUSGATE_SERVICE_PORT_METRICS: '9464',
      BUSGATE_PORT: 'tcp://10.0.0.1:9464',
      BUSGATE_PORT_9464_TCP_ADDR: '10.0.0.1',
      BUSGATE_CALLBACKS_PORT: 'tcp://10.0.0.2:80',
    }
    expect(loadSettings({ env }).callbacks.port).toBe(8080)
  })

  it.each(Object.entries(definitions))('accept the example of %s', (path, { example }) => {
    const name = path.replace('NAME', 'shop').replace('TYPE', 'hlr')
    const needed: Record<string, Record<string, string>> = {
      'kafka.brokers': { BUSGATE_REGISTRY_URL: 'http://registry:8081' },
      'gateway.accounts.NAME.rate': { BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'k' },
      'gateway.accounts.NAME.countries': { BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'k' },
      'gateway.accounts.NAME.maxParts': { BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'k' },
      'gateway.accounts.NAME.quietHours': { BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'k' },
      'callbacks.publicUrl': { BUSGATE_CALLBACKS_SECRET: 'k1:at-least-16-characters' },
    }
    const wrong = problemsOf({ env: { [variableOf(name)]: example, ...needed[path] } })
    expect(wrong.filter(problem => !problem.includes('go together'))).toEqual([])
  })
})

describe('wrong settings', () => {
  it('are all reported at once, each with its place, its problem and an example', () => {
    const file = yaml('gateway:\n  lingerMs: soon\n  url: gateway.example\nroles: [worker, postman]\n')
    const env = { BUSGATE_GATEWAY_MAX_OPERATIONS: '0', BUSGATE_GATEWAY_ERROR_TEXTS: '{"Oh":"OOPS"}' }
    expect(() => loadSettings({ file, env })).toThrow(
      [
        '5 settings are wrong:',
        `  gateway.url (${file}:3; variable BUSGATE_GATEWAY_URL): expected an http or https address. Example: https://gateway.example`,
        `  gateway.errorTexts (BUSGATE_GATEWAY_ERROR_TEXTS): Oh: expected one of ${errorCodes.join(', ')}. Example: {"No such sender":"SENDER_INVALID"}`,
        '  gateway.maxOperations (BUSGATE_GATEWAY_MAX_OPERATIONS): expected a whole number from 1 to 8192. Example: 100',
        `  gateway.lingerMs (${file}:2; variable BUSGATE_GATEWAY_LINGER_MS): expected a whole number from 0 to 2147483647. Example: 20`,
        `  roles (${file}:4; variable BUSGATE_ROLES): item 2: expected one of worker, callbacks, reconciler. Example: worker,callbacks`,
      ].join('\n'),
    )
  })

  it.each([
    ['BUSGATE_GATWAY_URL', 'BUSGATE_GATEWAY_URL'],
    ['BUSGATE_GATEWAY_KEY_FILE', 'BUSGATE_GATEWAY_API_KEY_FILE'],
    [
      'BUSGATE_GATEWAY_ACCOUNTS_MY_SHOP_API_KEY',
      'BUSGATE_GATEWAY_ACCOUNTS_NAME_API_KEY (NAME is made of lower-case letters and digits)',
    ],
  ])('include unknown variables: for %s the nearest one is suggested', (variable, nearest) => {
    expect(problemsOf({ env: { [variable]: 'x' } })).toEqual([
      `${variable} | ${variable} | is not a setting; the nearest is ${nearest}`,
    ])
  })

  it.each(['BUSGATE_FOO', 'BUSGATE_GATEWAY_SILENCE', 'BUSGATE_PROCESS'])(
    'suggest no setting for %s, which is near none',
    variable => {
      expect(problemsOf({ env: { [variable]: 'x' } })).toEqual([
        `${variable} | ${variable} | is not a setting; busgate config explain lists the settings`,
      ])
    },
  )

  it('include unknown keys of the file, reported with line and nearest name', () => {
    const file = yaml(
      'gatway:\n  url: https://g\ndoubts:\n  policies:\n    smss: AT_MOST_ONCE\ntelemetry: loud\nkafk: {}\n',
    )
    expect(problemsOf({ file })).toEqual([
      `gatway.url | ${file}:2 | is not a setting; the nearest is gateway.url`,
      expect.stringMatching(
        /^doubts.policies.smss \| .*:5 \| is not a setting; the nearest is doubts.policies.TYPE \(TYPE is one of sms, /,
      ),
      `telemetry | ${file}:6 | expected a map of settings`,
      `kafk | ${file}:7 | is not a setting; the nearest is kafka`,
    ])
  })

  it('include a file that is not YAML, which is not quoted', () => {
    expect(problemsOf({ file: yaml('gateway:\n  apiKey: *top-secret\n') })).toEqual([
      `YAML | ${folder}/busgate.yaml | Unresolved alias (the anchor must be set before the alias)`,
    ])
    expect(problemsOf({ file: yaml('gateway:\n  apiKey: "top-secret\n') })).toEqual([
      `YAML | ${folder}/busgate.yaml:3 | Missing closing "quote`,
    ])
    expect(problemsOf({ file: yaml('gateway:\n  ? { apiKey: top-secret }\n  : 1\n') })).toEqual([
      `YAML | ${folder}/busgate.yaml:2 | a key is a list or a map`,
    ])
    expect(problemsOf({ file: yaml('- a\n') })[0]).toContain('expected a map of sections')
  })

  it.each<[string, Record<string, string>, string]>([
    [
      'real brokers without a registry',
      { BUSGATE_KAFKA_BROKERS: 'b:9092' },
      'registry.url | BUSGATE_REGISTRY_URL, beside BUSGATE_KAFKA_BROKERS | is required unless kafka.brokers is embedded',
    ],
    [
      'doubts that are polled while an earlier owner may still hold its lease',
      { BUSGATE_GATEWAY_TIMEOUT_MS: '8000', BUSGATE_DOUBTS_WAIT_MS: '2000' },
      'doubts.waitMs | BUSGATE_GATEWAY_TIMEOUT_MS, BUSGATE_DOUBTS_WAIT_MS | gateway.timeoutMs + doubts.waitMs must be above kafka.sessionTimeoutMs (or 10000, if that is less): a worker that lost its partition may begin a request until then, so a doubt must be left alone for longer; raise doubts.waitMs',
    ],
    [
      'a public address without a secret',
      { BUSGATE_CALLBACKS_PUBLIC_URL: 'https://hooks.example' },
      'callbacks.secret | BUSGATE_CALLBACKS_SECRET, beside BUSGATE_CALLBACKS_PUBLIC_URL | is required with callbacks.publicUrl',
    ],
    [
      'an incomplete login at the brokers',
      { BUSGATE_KAFKA_SASL_USERNAME: 'u' },
      'kafka.sasl.mechanism | BUSGATE_KAFKA_SASL_MECHANISM, beside BUSGATE_KAFKA_SASL_USERNAME | kafka.sasl.mechanism, .username and .password go together: give all three or none',
    ],
    [
      'incomplete settings of oauthbearer',
      { BUSGATE_KAFKA_SASL_MECHANISM: 'oauthbearer', BUSGATE_KAFKA_SASL_CLIENT_ID: 'c' },
      'kafka.sasl.mechanism | BUSGATE_KAFKA_SASL_MECHANISM, BUSGATE_KAFKA_SASL_CLIENT_ID | kafka.sasl.tokenEndpoint, .clientId and .clientSecret go together with the mechanism oauthbearer, and they, .scope, .audience, .resource and .extensions with no other',
    ],
    [
      'a certificate without its key',
      { BUSGATE_KAFKA_SSL_CERT: 'c' },
      'kafka.ssl.cert | BUSGATE_KAFKA_SSL_CERT | kafka.ssl.cert and kafka.ssl.key go together: give both or none',
    ],
    [
      'an incomplete login at the registry',
      { BUSGATE_REGISTRY_PASSWORD: 'p' },
      'registry.username | BUSGATE_REGISTRY_USERNAME, beside BUSGATE_REGISTRY_PASSWORD | registry.username and registry.password go together: give both or none',
    ],
    [
      'two logins at the registry',
      { BUSGATE_REGISTRY_USERNAME: 'u', BUSGATE_REGISTRY_PASSWORD: 'p', BUSGATE_REGISTRY_TOKEN: 't' },
      'registry.token | BUSGATE_REGISTRY_USERNAME, BUSGATE_REGISTRY_PASSWORD, BUSGATE_REGISTRY_TOKEN | takes the place of registry.username and registry.password: give one of them',
    ],
    [
      'a client key for the registry without its certificate',
      { BUSGATE_REGISTRY_SSL_KEY: 'k' },
      'registry.ssl.cert | BUSGATE_REGISTRY_SSL_CERT, beside BUSGATE_REGISTRY_SSL_KEY | registry.ssl.cert and registry.ssl.key go together: give both or none',
    ],
    [
      'one port for two servers',
      { BUSGATE_CALLBACKS_PORT: '9464' },
      'callbacks.port | BUSGATE_CALLBACKS_PORT | is also telemetry.port; a process needs two',
    ],
    [
      'two topics with one name',
      { BUSGATE_TOPICS_RESULTS: 'busgate.commands' },
      'topics.commands | BUSGATE_TOPICS_COMMANDS, beside BUSGATE_TOPICS_RESULTS | two topics have the same name; each needs its own',
    ],
    [
      'two keys of the default account',
      { BUSGATE_GATEWAY_API_KEY: 'a', BUSGATE_GATEWAY_ACCOUNTS_DEFAULT_API_KEY: 'b' },
      'gateway.apiKey | BUSGATE_GATEWAY_API_KEY, BUSGATE_GATEWAY_ACCOUNTS_DEFAULT_API_KEY | is the same setting as gateway.accounts.default.apiKey: give one of them',
    ],
    [
      'an account without a key',
      { BUSGATE_GATEWAY_ACCOUNTS_SHOP_RATE: '5' },
      'gateway.accounts.NAME.rate | BUSGATE_GATEWAY_ACCOUNTS_SHOP_RATE | an account has a rate but no apiKey',
    ],
  ])('include contradictions: %s', (_, env, problem) => {
    expect(problemsOf({ env })).toEqual([problem])
  })

  it.each<[string, Record<string, string>]>([
    [
      'doubts that are polled early, with a shorter session time-out',
      {
        BUSGATE_GATEWAY_TIMEOUT_MS: '5000',
        BUSGATE_DOUBTS_WAIT_MS: '1001',
        BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '6000',
      },
    ],
    [
      'doubts that are polled early, with a session time-out longer than any lease',
      {
        BUSGATE_GATEWAY_TIMEOUT_MS: '10000',
        BUSGATE_DOUBTS_WAIT_MS: '1',
        BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '20000',
      },
    ],
    [
      'doubts that are polled at once, on the embedded bus',
      { BUSGATE_KAFKA_BROKERS: 'embedded', BUSGATE_GATEWAY_TIMEOUT_MS: '1', BUSGATE_DOUBTS_WAIT_MS: '0' },
    ],
  ])('do not include %s', (_, env) => {
    expect(problemsOf({ env })).toEqual([])
  })

  it.each<[string, string, string]>([
    ['BUSGATE_KAFKA_BROKERS', 'broker-1', 'expected addresses of the form host:port, or the word embedded'],
    ['BUSGATE_KAFKA_SSL', 'yes', 'expected true or false'],
    ['BUSGATE_KAFKA_START_FROM', 'middle', 'expected one of earliest, latest, fail'],
    ['BUSGATE_TOPICS_RESULTS', 'a topic', 'expected a topic name: letters, digits, dot, dash, underscore'],
    [
      'BUSGATE_TOPICS_RESULTS',
      '.',
      'expected a topic name: letters, digits, dot, dash, underscore, but not . or .. alone',
    ],
    ['BUSGATE_TOPICS_COMMANDS', 'a,..', 'item 2: expected a topic name'],
    [
      'BUSGATE_TOPICS_DOUBTS',
      'a'.repeat(250),
      'expected a topic name: letters, digits, dot, dash, underscore, 249 of them at most',
    ],
    ['BUSGATE_TOPICS_OVERDUE', ' ', 'expected a topic name'],
    ['BUSGATE_TOPICS_COMMANDS', 'a,a', 'has the same value twice'],
    ['BUSGATE_GATEWAY_URL', 'ftp://gateway', 'expected an http or https address'],
    ['BUSGATE_GATEWAY_URL', 'https://me:pw@gateway', 'must not contain a user name or password'],
    ['BUSGATE_GATEWAY_URL', 'https://me@gateway', 'must not contain a user name or password'],
    ...['https://gateway/?key=secret', 'https://gateway?', 'https://gateway/base#part'].flatMap(url =>
      ['BUSGATE_GATEWAY_URL', 'BUSGATE_REGISTRY_URL', 'BUSGATE_CALLBACKS_PUBLIC_URL'].map(
        (name): [string, string, string] => [name, url, 'must have no query (?) and no fragment (#)'],
      ),
    ),
    ['BUSGATE_GATEWAY_RATE', '0', 'expected a number above 0'],
    ['BUSGATE_GATEWAY_ERROR_TEXTS', 'Oh=REJECTED', 'expected a map (in a variable: a JSON object)'],
    ['BUSGATE_CALLBACKS_PORT', '70000', 'expected a whole number from 0 to 65535'],
    ['BUSGATE_ROLES', ' , ', 'expected at least one'],
    [
      'BUSGATE_CALLBACKS_SECRET',
      'k1:too-short',
      'item 1: expected kid:secret, the kid of 1 to 8 letters, digits, - or _, the secret of at least 16 characters',
    ],
    ['BUSGATE_CALLBACKS_SECRET', 'a:0123456789abcdef,a:0123456789abcdeF', 'has the same kid twice'],
  ])('include %s=%s', (variable, value, what) => {
    expect(problemsOf({ env: { [variable]: value } })).toEqual([
      expect.stringMatching(/^[a-zA-Z.]+ \| BUSGATE_[A-Z_]+ \| /),
    ])
    expect(problemsOf({ env: { [variable]: value } })[0]).toContain(what)
  })
})

describe('settings in code', () => {
  it('have types that reject unknown names and values', () => {
    const overrides: SettingsTree = {
      kafka: { brokers: ['broker-1:9092'], ssl: { caFile: '/run/ca.pem' }, sessionTimeoutMs: '5000' },
      gateway: { apiKey: 'key', accounts: { shop: { apiKeyFile: '/run/shop', rate: 5 } }, rate: 2 },
      doubts: { policies: { 'viber+sms': 'AT_MOST_ONCE' } },
      roles: 'worker,callbacks',
    }
    expect(Object.keys(overrides)).toHaveLength(4)
    const wrong = [
      // @ts-expect-error there is no such section
      () => loadSettings({ env: {}, overrides: { kafak: 1 } }),
      // @ts-expect-error there is no such setting
      () => loadSettings({ env: {}, overrides: { kafka: { broker: 'broker-1:9092' } } }),
      // @ts-expect-error there is no such policy
      () => loadSettings({ env: {}, overrides: { doubts: { policy: 'NEVER' } } }),
      // @ts-expect-error there is no such type of message
      () => loadSettings({ env: {}, overrides: { doubts: { policies: { fax: 'AT_MOST_ONCE' } } } }),
      // @ts-expect-error a number is expected
      () => loadSettings({ env: {}, overrides: { gateway: { lingerMs: 'soon' } } }),
    ]
    for (const load of wrong) expect(load).toThrow(SettingsError)
  })
})
