import { isObject } from '../protocol/json.ts'
import { checkSettings } from './check.ts'
import { compile, type Settings } from './compile.ts'
import { type CrossCheck, crossChecks } from './cross-checks.ts'
import { definitions } from './definitions.ts'
import { type SettingProblem, SettingsError } from './errors.ts'
import { environmentLayer, fileLayer, type GivenValue, type Layer, treeLayer } from './layers.ts'
import { variableOf } from './names.ts'
import { printedTree } from './printed.ts'
import { requireRunnable, type WithBrokers } from './runnable.ts'
import type { SettingsTree } from './types.ts'

/** Sources of settings: a file, the environment, and overrides in code. */
export interface SettingsSources {
  /** Path of a YAML file. Default: the value of BUSGATE_CONFIG, if set. */
  file?: string
  /** Environment variables, usually `process.env`. */
  env: Record<string, string | undefined>
  /** Settings in the form of the YAML file; they override file and environment. Default: none. */
  overrides?: SettingsTree
}

/**
 * Loads the settings. Overrides take precedence over the environment, the environment over the file, and the file over
 * defaults.
 * @throws SettingsError that names every problem
 */
export function loadSettings(sources: SettingsSources): Settings {
  if (!isObject(sources?.env))
    throw new TypeError('loadSettings: env must be given, such as process.env, or {} for none')
  const { values, problems } = read(sources)
  if (problems.length > 0) throw new SettingsError(problems)
  return compile(values)
}

/**
 * Loads the settings of a process that is to run.
 * @param checks further validation; they see defaults instead of invalid values
 * @throws SettingsError that names everything invalid or missing, including what the checks find
 */
export function loadRunnableSettings(
  sources: SettingsSources,
  ...checks: ((settings: Settings) => void)[]
): Settings & WithBrokers {
  const { values, problems } = read(sources)
  const settings = compile(values)
  for (const look of [requireRunnable, ...checks]) {
    const found = complaintsOf(() => look(settings))
    problems.push(...found.filter(({ path }) => !problems.some(problem => problem.path === path)))
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return settings as Settings & WithBrokers
}

/**
 * Loads the settings for printing.
 * @returns the settings and their defaults in the form of the file, which load again to the same settings; secrets are masked
 * @throws SettingsError that names every problem
 */
export function printableSettings(sources: SettingsSources): Record<string, unknown> {
  const { values, problems } = read(sources)
  if (problems.length > 0) throw new SettingsError(problems)
  return printedTree(values)
}

function complaintsOf(look: () => void): readonly SettingProblem[] {
  try {
    look()
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

function read({ file, env, overrides }: SettingsSources) {
  const layers = [...fileLayers(file, env), environmentLayer(env), treeLayer(overrides, () => 'code')]
  const given = strongest(layers)
  const { values, problems: wrong, failed } = checkSettings(given)
  const broken = crossChecks.filter(rule => !rule.paths.some(path => failed.has(path)) && rule.broken(values))
  const problems = [...layers.flatMap(layer => layer.problems), ...wrong, ...broken.map(rule => problemOf(rule, given))]
  return { values, problems }
}

function fileLayers(file: string | undefined, env: SettingsSources['env']): Layer[] {
  if (file !== undefined) return [fileLayer(file, '--config')]
  return env.BUSGATE_CONFIG ? [fileLayer(env.BUSGATE_CONFIG, 'BUSGATE_CONFIG')] : []
}

/** A secret and its `…File` twin are kept separately, so that giving both is noticed even across sources. */
function strongest(layers: Layer[]): GivenValue[] {
  const byName = new Map<string, GivenValue>()
  for (const given of layers.flatMap(layer => layer.given)) byName.set(`${given.path} ${given.isFile}`, given)
  return [...byName.values()]
}

/** If the reported setting was not given, names its variable first, because that is where a value is missing. */
function problemOf({ paths, what }: CrossCheck, given: GivenValue[]): SettingProblem {
  const [path] = paths
  const variable = variableOf(path)
  const places = given.filter(one => paths.includes(one.setting)).map(one => one.where)
  const isGiven = given.some(one => one.setting === path)
  const where = isGiven || places.length === 0 ? places.join(', ') : `${variable}, beside ${places.join(', ')}`
  return { path, where: where || variable, variable, what, example: definitions[path].example }
}
