import fc from 'fast-check'
import { expect } from 'vitest'
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
import { bounded } from './invariants.ts'
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
export const settingsSources: fc.Arbitrary<SettingsSources> = fc
  .record({
    variables: fc.array(fc.tuple(path, text), { maxLength: 6 }),
    tree: fc.array(fc.tuple(path, value), { maxLength: 6 }).map(treeOf),
  })
  .map(({ variables, tree }) => ({
    env: Object.fromEntries(variables.map(([path, text]) => [variableOf(path), text])),
    overrides: tree as NonNullable<SettingsSources['overrides']>,
  }))

/** Files with settings; `damage` puts mistakes into them. */
export const settingsFile: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(fc.tuple(path, value), { maxLength: 6 }).map(treeOf),
    fc.nat(),
    fc.nat(3),
    fc.constantFrom('', ':', '"', '\t', '&a', '*a', '- '),
  )
  .map(([tree, at, cut, piece]) => {
    const text = stringify(tree)
    const place = at % (text.length + 1)
    return text.slice(0, place) + piece + text.slice(place + cut)
  })

/** Loads the settings in all ways. @returns everything that is told about them */
function told(sources: SettingsSources): string {
  const texts: string[] = []
  for (const load of [loadSettings, loadRunnableSettings, printableSettings]) {
    try {
      const loaded = load(sources)
      if (load === printableSettings) texts.push(secretsOf(loaded))
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      texts.push(error.message, String(error.stack))
    }
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

/** Properties that `npm run fuzz` checks for as long as it is told, and the tests for a moment. */
export const settingsProperties = {
  'settings load, or are refused without their values': fc.property(settingsSources, sources => {
    expect(bounded(() => told(sources))).not.toContain(mark)
  }),
}

/** @param write puts a text into a file, and returns its path */
export const settingsFileProperty = (write: (text: string) => string) =>
  fc.property(settingsFile, text => {
    expect(bounded(() => told({ env: {}, file: write(text) }))).not.toContain(mark)
  })
