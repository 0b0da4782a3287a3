import { check } from './check.ts'
import { compile, type Settings } from './compile.ts'
import { crossChecks } from './cross-checks.ts'
import { type Problem, SettingsError } from './errors.ts'
import { environmentLayer, fileLayer, type Given, type Layer, treeLayer } from './layers.ts'
import { variableOf } from './names.ts'

export interface SettingsSources {
  /** Path of a YAML file; without it BUSGATE_CONFIG may name one. */
  file?: string
  env: Record<string, string | undefined>
  /** A tree like that of the file, stronger than everything else. */
  overrides?: object
}

/**
 * Reads the settings; weakest first: defaults, file, environment, overrides.
 * @throws SettingsError that names everything that is wrong.
 */
export function loadSettings({ file, env, overrides }: SettingsSources): Settings {
  const layers = [...fileLayers(file, env), environmentLayer(env), treeLayer(overrides, () => 'code')]
  const given = strongest(layers)
  const { values, problems: wrong, failed } = check(given)
  const broken = crossChecks.filter(rule => !rule.paths.some(path => failed.has(path)) && rule.broken(values))
  const problems = [
    ...layers.flatMap(layer => layer.problems),
    ...wrong,
    ...broken.map(({ paths, what }): Problem => ({ path: paths[0], where: whereIs(paths, given), what })),
  ]
  if (problems.length > 0) throw new SettingsError(problems)
  return compile(values)
}

function fileLayers(file: string | undefined, env: SettingsSources['env']): Layer[] {
  if (file !== undefined) return [fileLayer(file, '--config')]
  return env.BUSGATE_CONFIG ? [fileLayer(env.BUSGATE_CONFIG, 'BUSGATE_CONFIG')] : []
}

/** A secret and its twin keep a place each, so that giving both shows, wherever they were given. */
function strongest(layers: Layer[]): Given[] {
  const byName = new Map<string, Given>()
  for (const given of layers.flatMap(layer => layer.given)) byName.set(`${given.path} ${given.isFile}`, given)
  return [...byName.values()]
}

function whereIs(paths: CrossCheckPaths, given: Given[]): string {
  const places = given.filter(one => paths.includes(one.setting)).map(one => one.where)
  return places.join(', ') || variableOf(paths[0])
}

type CrossCheckPaths = (typeof crossChecks)[number]['paths']
