/**
 * Generates settings, and lets the chart and busgate judge them: helm must refuse what busgate refuses, and accept what each
 * rendered role accepts. Not generated, because no schema can say them: unknown time zones, quiet hours without end, hosts that
 * Punycode cannot write. The chart takes values only as `busgate config print` writes them: no numbers or lists as text.
 * Usage: node .ci/helm-generated.ts [RUNS [SEED]], with helm in the path.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { definitions, type Setting } from '../src/config/definitions.ts'
import { SettingsError } from '../src/config/errors.ts'
import { loadRunnableSettings, loadSettings, printableSettings } from '../src/config/load.ts'

type Tree = { [key: string]: unknown }

const [runs = '300', seed = '1'] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'busgate-generated-'))
const secret = join(folder, 'secret')
writeFileSync(secret, 'k1:not-a-real-secret')
const keySet = join(folder, 'keys.json')
writeFileSync(keySet, definitions['sealing.keys'].example)
const fileOf = (variable: string) => (variable === 'BUSGATE_SEALING_KEYS_FILE' ? keySet : secret)

const hosts = [
  'a',
  'gateway.example',
  'a_b.c-d.',
  '1.2.3.4',
  '256.1.1.1',
  '1.2.3',
  '0x1f',
  '3f2a',
  '[::1]',
  '[1::2::3]',
  'a..b',
  '',
  'київ.ua',
  'a b',
]
const ports = ['', ':1', ':65535', ':65536', ':99999', ':', ':x']
const scheme = fc.constantFrom('http://', 'https://', 'HTTP://', 'ftp://', '', 'http:', '//')
const rest = fc.constantFrom('', '/', '/base', '/base//', '?q=1', '#f', '/a b', '/ü', '/a\\b', '/\u0000')
const user = fc.constantFrom('', '', '', 'user@', 'user:word@')
const address = fc
  .tuple(scheme, user, fc.constantFrom(...hosts), fc.constantFrom(...ports), rest)
  .map(parts => parts.join(''))
const broker = fc.tuple(fc.constantFrom(...hosts), fc.constantFrom(...ports)).map(parts => parts.join(''))
const windows = [
  '21:00-09:00 Europe/Kyiv',
  'Sat-Sun 00:00-24:00 UTC',
  'Sat-Sin 00:00-24:00 UTC',
  '24:00-01:00 UTC',
  '9:00-10:00 UTC',
  '21:00-09:00',
  '21:00-09:00 +02:00',
]
const names = [
  'busgate.results',
  'busgate.commands',
  'a',
  '.',
  '..',
  '...',
  '.a',
  'a b',
  'ü',
  'x'.repeat(249),
  'x'.repeat(250),
  '',
]
const texts = fc.oneof(
  fc.constantFrom('a', '', ' ', '\u00a0', '7', 'true', '***', 'null', '~'),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)
const other = fc.constantFrom<unknown>(0, -1, 1.5, true, [], {}, ['a'], { a: 'b' }, [[]], [0], 'text', 2 ** 53)

/** Values of a setting: at and beyond its bounds, of its words, and of other types. */
function valuesOf(path: string, { type, example }: Setting): fc.Arbitrary<unknown> {
  const schema = z.toJSONSchema(type, { io: 'input' })
  const { minimum = 0, maximum = 100 } = schema
  const own: fc.Arbitrary<unknown>[] = [texts]
  if (schema.type === 'boolean') own.push(fc.boolean())
  if (schema.type === 'integer')
    own.push(
      fc.constantFrom(minimum - 1, minimum, minimum + 1, maximum - 1, maximum, maximum + 1),
      fc.integer({ min: minimum, max: maximum }),
    )
  if (schema.type === 'number') own.push(fc.constantFrom(0, 0.001, 1, 5, 50.5, -1))
  if (schema.enum) own.push(fc.constantFrom(...schema.enum), fc.constantFrom(...schema.enum))
  if (/[uU]rl$|tokenEndpoint/.test(path)) own.push(address, address, address)
  if (path === 'kafka.brokers') own.push(fc.array(broker, { maxLength: 3 }), fc.array(broker, { maxLength: 1 }))
  if (path.endsWith('quietHours')) own.push(fc.array(fc.constantFrom(...windows), { maxLength: 2 }))
  if (path === 'topics.commands') own.push(fc.array(fc.constantFrom(...names), { maxLength: 3 }))
  else if (path.startsWith('topics.')) own.push(fc.constantFrom(...names))
  if (path === 'gateway.errorTexts')
    own.push(fc.dictionary(fc.string({ maxLength: 3 }), fc.constantFrom('SENDER_INVALID', 'NO_SUCH', 7)))
  if (path === 'gateway.tenantWeights')
    own.push(fc.dictionary(fc.string({ maxLength: 3 }), fc.constantFrom(0, 1, 100, 101, 'a')))
  if (path === 'kafka.sasl.extensions')
    own.push(fc.dictionary(fc.constantFrom('auth', 'authz', 'logicalCluster', 'a-b', ''), texts))
  if (path === 'gateway.notFoundTexts') own.push(fc.array(texts, { maxLength: 2 }))
  const valid = schema.type === undefined || schema.type === 'string' ? fc.constant(example) : fc.constant(undefined)
  return fc.oneof({ weight: 8, arbitrary: fc.oneof(...own, valid) }, { weight: 1, arbitrary: other })
}

const entries = Object.entries(definitions).filter(([path, { secret: isSecret }]) => !isSecret && path !== 'roles')
const setting = fc
  .tuple(
    fc.constantFrom(...entries),
    fc.constantFrom('default', 'shop', 'other', 'Shop'),
    fc.constantFrom('sms', 'call/otp', 'fax'),
  )
  .chain(([[path, definition], name, type]) =>
    fc.tuple(fc.constant(path.replace('NAME', name).replace('TYPE', type)), valuesOf(path, definition)),
  )
/** Settings that rules about several of them concern. */
const related: [string, unknown[]][] = [
  ['kafka.sessionTimeoutMs', [5000, 10_000, 30_000, 40_000]],
  ['gateway.timeoutMs', [1, 5000, 9999]],
  ['doubts.waitMs', [0, 1, 5000, 60_000]],
  ['commands.maxInFlight', [2, 20, 199, 200]],
  ['gateway.maxOperations', [1, 10, 100, 101]],
  ['kafka.sasl', [{ mechanism: 'plain', username: 'busgate' }]],
  ['kafka.sasl', [{ mechanism: 'oauthbearer', tokenEndpoint: 'https://login.example/token', clientId: 'client' }]],
  ['kafka.sasl.mechanism', ['plain', 'oauthbearer']],
  ['kafka.sasl.username', ['busgate']],
  ['kafka.sasl.tokenEndpoint', ['https://login.example/token']],
  ['kafka.sasl.audience', ['kafka']],
  ['kafka.sasl.extensions', [{}, { logicalCluster: 'lkc-1' }]],
  ['registry.username', ['busgate']],
  ['topics.commands', [['one'], ['one', 'two']]],
  ['topics.results', ['one', 'busgate.overdue']],
  ['gateway.rate', [1, 5.5, 50]],
  ['gateway.accounts.shop.rate', [1, 5.5, 50]],
  ['gateway.accounts.default.quietHours', [['21:00-09:00 UTC']]],
  ['gateway.quietHours', [['21:00-09:00 UTC']]],
  ['sealing.required', [['shop'], ['default', 'shop']]],
  ['reconciler.rate', [1, 5.5]],
  ['callbacks.port', [8080, 9464, 9000]],
  ['telemetry.port', [8080, 9464, 9000]],
  ['callbacks.publicUrl', ['https://hooks.example']],
]
const relatedSetting = fc
  .constantFrom(...related)
  .chain(([path, values]) => fc.tuple(fc.constant(path), fc.constantFrom(...values)))
const base = {
  'kafka.brokers': ['broker-1:9092'],
  'registry.url': 'http://registry:8081',
  'gateway.url': 'https://gateway.example',
}
const chart = fc.record({
  reconciler: fc.boolean(),
  ui: fc.boolean(),
  token: fc.constantFrom('', '', 'registry-token'),
  sealing: fc.constantFrom('', 'sealing-keys'),
  ownKey: fc.boolean(),
  accounts: fc.constantFrom([], ['shop'], ['shop'], ['default', 'shop']),
})
const sample = fc.record({
  settings: fc.oneof(fc.array(setting, { maxLength: 2 }), fc.array(relatedSetting, { maxLength: 5 })),
  chart,
})

interface Chart {
  reconciler: boolean
  ui: boolean
  token: string
  sealing: string
  ownKey: boolean
  accounts: string[]
}

/** The tree of settings by path; a later path below the value of another replaces it. */
function treeOf(settings: readonly (readonly [string, unknown])[]): Tree {
  const tree: Tree = {}
  for (const [path, value] of settings) {
    const keys = path.split('.')
    let section = tree
    for (const key of keys.slice(0, -1)) {
      if (!isTree(section[key])) section[key] = {}
      section = section[key] as Tree
    }
    if (value !== undefined) section[keys.at(-1)!] = value
  }
  return tree
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const given = (tree: Tree, ...keys: string[]): unknown =>
  keys.reduce<unknown>((section, key) => (isTree(section) ? section[key] : undefined), tree)

/** The variables that give a worker every secret that its settings ask for, as the chart does. */
function secretsFor(config: Tree, { token, sealing, ownKey, accounts }: Chart): Record<string, string> {
  const oauth = given(config, 'kafka', 'sasl', 'mechanism') === 'oauthbearer'
  const names = [
    ...(ownKey ? ['GATEWAY_API_KEY'] : []),
    ...accounts.map(name => `GATEWAY_ACCOUNTS_${name.toUpperCase()}_API_KEY`),
    ...(given(config, 'callbacks', 'publicUrl') ? ['CALLBACKS_SECRET'] : []),
    ...(oauth
      ? ['KAFKA_SASL_CLIENT_SECRET']
      : given(config, 'kafka', 'sasl', 'username')
        ? ['KAFKA_SASL_PASSWORD']
        : []),
    ...(given(config, 'registry', 'username') ? ['REGISTRY_PASSWORD'] : []),
    ...(token ? ['REGISTRY_TOKEN'] : []),
    ...(sealing ? ['SEALING_KEYS'] : []),
  ]
  const variables = names.map(name => `BUSGATE_${name}_FILE`)
  return Object.fromEntries(variables.map(variable => [variable, fileOf(variable)]))
}

/** What busgate says of the settings; null if it accepts them. */
function refusalOf(load: () => unknown): string | null {
  try {
    load()
    return null
  } catch (error) {
    if (error instanceof SettingsError) return error.message
    throw error
  }
}

/** Whether a chart may take the values: written as `config print` writes them, with ports, and with real brokers. */
function isForCharts(config: Tree, file: string, env: Record<string, string>): boolean {
  const printed = printableSettings({ file, env })
  const same = (value: unknown, other: unknown): boolean =>
    isTree(value) && isTree(other)
      ? Object.keys(value).every(key => same(value[key], other[key]))
      : JSON.stringify(value) === JSON.stringify(other) || (isTree(value) && Object.keys(value).length === 0)
  return (
    same(config, printed) &&
    given(config, 'kafka', 'brokers') !== 'embedded' &&
    ![given(config, 'callbacks', 'port'), given(config, 'telemetry', 'port')].includes(0)
  )
}

/** Loads the settings of each rendered container as its busgate would. */
function checkRendered(manifests: string): void {
  const objects = parseAllDocuments(manifests).map(document => document.toJS())
  const pods = objects.filter(object => object?.kind === 'Deployment').map(({ spec }) => spec.template)
  assert(pods.length >= 2)
  for (const { metadata, spec } of pods) {
    const file = join(folder, 'rendered.yaml')
    writeFileSync(file, metadata.annotations['busgate.yaml'])
    const own = spec.containers[0].env.filter(({ name }: { name: string }) => /^BUSGATE_/.test(name))
    const env = Object.fromEntries(
      own.map(({ name, value }: { name: string; value: string }) => [
        name,
        name.endsWith('_FILE') ? fileOf(name) : value,
      ]),
    )
    const load = spec.containers[0].name === 'ui' ? loadSettings : loadRunnableSettings
    assert.equal(
      refusalOf(() => load({ file, env })),
      null,
      `the role ${spec.containers[0].name} refuses its settings`,
    )
  }
}

function judge(settings: (readonly [string, unknown])[], chosen: Chart): 'accepted' | 'refused' | 'skipped' {
  const config = treeOf([...Object.entries(base), ...settings])
  if (!chosen.reconciler) delete config.reconciler
  const { reconciler, ui, token, sealing, ownKey, accounts } = chosen
  const values = {
    config,
    existingSecret: 'busgate',
    secretKeys: {
      gatewayApiKey: ownKey ? 'key' : '',
      accountApiKeys: Object.fromEntries(accounts.map(name => [name, `${name}-key`])),
      registryToken: token,
      sealingKeys: sealing,
    },
    reconciler: { enabled: reconciler },
    ui: { enabled: ui },
  }
  const [file, valuesFile] = [join(folder, 'busgate.yaml'), join(folder, 'values.yaml')]
  writeFileSync(file, JSON.stringify(config))
  writeFileSync(valuesFile, JSON.stringify(values))
  const env = { ...secretsFor(config, chosen), BUSGATE_ROLES: reconciler ? 'worker,reconciler' : 'worker' }
  const refusal = refusalOf(() => loadRunnableSettings({ file, env }))
  if (refusal === null && !isForCharts(config, file, env)) return 'skipped'
  const helm = spawnSync('helm', ['template', 'busgate', 'helm', '--kube-version', '1.30', '--values', valuesFile], {
    encoding: 'utf8',
  })
  assert(helm.error === undefined, `${helm.error}`)
  if (refusal !== null) assert.notEqual(helm.status, 0, `only busgate refuses: ${refusal}`)
  else {
    assert.equal(helm.status, 0, `only helm refuses: ${helm.stderr}`)
    checkRendered(helm.stdout)
  }
  return refusal === null ? 'accepted' : 'refused'
}

const seen = { accepted: 0, refused: 0, skipped: 0 }
try {
  fc.assert(
    fc.property(sample, ({ settings, chart }) => {
      seen[judge(settings, chart)]++
    }),
    { numRuns: Number(runs), seed: Number(seed) },
  )
} finally {
  rmSync(folder, { recursive: true })
}
console.log(`helm and busgate agree: ${JSON.stringify(seen)}, seed ${seed}`)
assert(seen.accepted > Number(runs) / 10 && seen.refused > Number(runs) / 10, 'the generator is one-sided')
