import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { stringify } from 'yaml'
import {
  definitions,
  loadRunnableSettings,
  loadSettings,
  printableSettings,
  SettingsError,
  type SettingsSources,
  variableOf,
} from '../../../src/config/index.ts'
import type { Grammar } from '../grammar.ts'
import { grammarOf } from '../grammar.ts'
import { bounded } from '../measure.ts'
import { hostileText } from './json-text.ts'

/** A part of every value, which no error and no output may repeat. */
const mark = 'zq7-canary'

const paths = Object.keys(definitions).flatMap(path => [path, `${path}File`])
const path = fc
  .tuple(
    fc.constantFrom(...paths),
    fc.constantFrom('default', 'shop', '__proto__', 'x1'),
    fc.constantFrom('sms', 'hlr', 'toString'),
  )
  .map(([path, name, type]) => path.replace('NAME', name).replace('TYPE', type))

const examples = Object.values(definitions).map(({ example }) => example)
const text = fc.oneof(
  hostileText.map(text => mark + text),
  hostileText.map(text => text + mark),
  fc.constantFrom(...examples),
  fc.tuple(fc.constantFrom(...examples), hostileText).map(([example, text]) => `${example}${mark}${text}`),
)
const scalar = fc.oneof({ weight: 4, arbitrary: text }, fc.constantFrom(0, -1, 1.5, 2 ** 53, Infinity, NaN, true, null))
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('a', 'toString'), scalar),
)

function treeOf(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const tree: Record<string, unknown> = {}
  for (const [path, value] of entries) {
    const keys = path.split('.')
    let section = tree
    for (const key of keys.slice(0, -1)) {
      const known = Object.hasOwn(section, key) ? section[key] : undefined
      const next = typeof known === 'object' && known !== null ? known : {}
      Object.defineProperty(section, key, { value: next, enumerable: true, configurable: true, writable: true })
      section = next as Record<string, unknown>
    }
    Object.defineProperty(section, keys.at(-1)!, { value, enumerable: true, configurable: true, writable: true })
  }
  return tree
}

/** Settings as an environment gives them, and as a file or a program does. */
const settingsSources: fc.Arbitrary<SettingsSources> = fc
  .record({
    variables: fc.array(fc.tuple(path, text), { maxLength: 6 }),
    tree: fc.array(fc.tuple(path, value), { maxLength: 6 }).map(treeOf),
  })
  .map(({ variables, tree }) => ({
    env: Object.fromEntries(variables.map(([path, text]) => [variableOf(path), text])),
    overrides: tree as NonNullable<SettingsSources['overrides']>,
  }))

/** Files with settings; `damage` puts mistakes into them. */
const settingsFile: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(fc.tuple(path, value), { maxLength: 6 }).map(treeOf),
    fc.nat(),
    fc.nat(3),
    fc.constantFrom('', ':', '"', '\t', '&a', '*a', '- ', '? ', '{'),
  )
  .map(([tree, at, cut, piece]) => {
    const text = stringify(tree)
    const place = at % (text.length + 1)
    return text.slice(0, place) + piece + text.slice(place + cut)
  })

/** Everything that loads settings. */
const loads = [loadSettings, loadRunnableSettings, printableSettings]

/** Loads the settings. @returns everything that is told about them, warnings too */
function told(load: (typeof loads)[number], sources: SettingsSources): string {
  const texts: string[] = []
  const { emitWarning } = process
  process.emitWarning = (text: string | Error) => void texts.push(String(text))
  try {
    const loaded = load(sources)
    if (load === printableSettings) texts.push(secretsOf(loaded))
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    texts.push(error.message, String(error.stack))
  } finally {
    process.emitWarning = emitWarning
  }
  return texts.join('\n')
}

/** What is printed for settings that are secret. */
function secretsOf(tree: object): string {
  const { gateway, kafka, registry, callbacks } = tree as Record<string, Record<string, unknown> | undefined>
  const { apiKey } = gateway ?? {}
  return JSON.stringify([
    apiKey,
    registry?.password,
    registry?.token,
    callbacks?.secret,
    (kafka?.sasl as Record<string, unknown> | undefined)?.password,
  ])
}

async function expectQuiet(sources: SettingsSources): Promise<void> {
  for (const load of loads) {
    const texts = await bounded('loading settings', () => told(load, sources))
    assert.ok(!texts.includes(mark), `a value is told: ${texts}`)
  }
}

const grammarIn = (folder: string) =>
  grammarOf(
    'settings',
    {
      'settings load, or are refused without their values': fc.asyncProperty(settingsSources, expectQuiet),
      'a file of settings loads, or is refused without their values': fc.asyncProperty(settingsFile, text => {
        const file = join(folder, 'busgate.yaml')
        writeFileSync(file, text)
        return expectQuiet({ env: {}, file })
      }),
    },
    10,
  )

export const settings: Grammar = {
  about: 'settings of the environment, files and programs',
  async start() {
    const folder = mkdtempSync(join(tmpdir(), 'busgate-fuzz-'))
    const running = await grammarIn(folder).start()
    return { ...running, stop: () => rmSync(folder, { recursive: true }) }
  },
}
