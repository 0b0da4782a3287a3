/**
 * Writes `definitions.settings` in helm/values.schema.json from the definitions of the settings, so that the chart refuses
 * settings that busgate would refuse. The rest of the file is written by hand.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { definitions, type Setting } from '../src/config/definitions.ts'
import { descriptionOf } from '../src/config/kinds.ts'
import { sendTypes } from '../src/protocol/index.ts'
import { writeGenerated } from './generated-file.ts'

type Schema = Record<string, unknown>

const target = 'helm/values.schema.json'
const comment =
  'Made by scripts/generate-values-schema.ts from src/config/definitions.ts: change that and run npm run generate.'

const settings = new Map<string, Setting>(Object.entries(definitions))
settings.delete('roles') // each Deployment of the chart sets its own

const keysOfSecret: Record<string, string> = {
  'gateway.apiKey': 'gatewayApiKey',
  'gateway.accounts.NAME.apiKey': 'accountApiKeys',
  'callbacks.secret': 'callbacksSecret',
  'kafka.sasl.password': 'kafkaPassword',
  'kafka.sasl.clientSecret': 'kafkaClientSecret',
  'registry.password': 'registryPassword',
  'registry.token': 'registryToken',
  'sealing.keys': 'sealingKeys',
}

/** A schema that refuses a secret. Helm prints only the value of `const`, so that value says what to do. */
function refusalOf(path: string): Schema {
  const [, section] = /^(\w+)\.ssl\./.exec(path) ?? []
  if (section) return { const: `absent, because the pod's annotation would show it: name its Secret in ${section}Tls` }
  const key = keysOfSecret[path]
  if (!key)
    throw new Error(
      `${path}: name its key here, in helm/values.yaml, and in busgate.secretFiles (helm/templates/_helpers.tpl)`,
    )
  return {
    const: `absent, because the pod's annotation would show it: put it into the Secret that existingSecret names, under the key in secretKeys.${key}`,
  }
}

/** The schema of a section. @param prefix empty, or the section's path with a dot at its end */
function sectionBelow(prefix: string): Schema {
  const paths = [...settings.keys()].filter(path => path.startsWith(prefix))
  const keys = new Set(paths.map(path => path.slice(prefix.length).split('.')[0]!))
  if (keys.has('NAME')) {
    const propertyNames = { pattern: '^[a-z0-9]+$' }
    return { type: 'object', propertyNames, additionalProperties: sectionBelow(`${prefix}NAME.`) }
  }
  const properties = Object.fromEntries([...keys].flatMap(key => propertiesOf(prefix, key)))
  return { type: 'object', additionalProperties: false, properties }
}

function propertiesOf(prefix: string, key: string): [string, Schema][] {
  const setting = settings.get(prefix + key)
  if (!setting) return [[key, sectionBelow(`${prefix}${key}.`)]]
  const below = [...settings.keys()].some(path => path.startsWith(`${prefix}${key}.`))
  if (below) return [[key, { anyOf: [schemaOf(setting), { ...sectionBelow(`${prefix}${key}.`), minProperties: 1 }] }]]
  const names = key === 'TYPE' ? sendTypes : setting.secret ? [key, `${key}File`] : [key]
  return names.map(name => [name, setting.secret ? refusalOf(prefix + key) : schemaOf(setting)])
}

/** The native form of a value. A chart has no variables, hence no numbers, lists and maps as text. */
function schemaOf({ type, doc }: Setting): Schema {
  const {
    $schema: _,
    description: _kind,
    ...schema
  } = z.toJSONSchema(type, {
    io: 'input',
    override: ({ jsonSchema }) => explainPattern(jsonSchema, descriptionOf(type)),
  })
  return { description: doc, ...schema }
}

/** Makes Helm print what is expected in place of a pattern: of these keywords, it prints only `const`. */
function explainPattern(schema: Schema, fallback: string): void {
  const { pattern, description = fallback } = schema
  if (pattern === undefined) return
  delete schema.pattern
  Object.assign(schema, { if: { pattern }, else: { const: description } })
}

const present = readFileSync(new URL(`../${target}`, import.meta.url), 'utf8')
const schema = JSON.parse(present) as { definitions: { settings: Schema } }
schema.definitions.settings = { $comment: comment, ...sectionBelow('') }
writeGenerated(target, `${JSON.stringify(schema, null, 2)}\n`)
