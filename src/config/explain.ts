import { definitions, type Setting, type SettingPath } from './definitions.ts'
import { descriptionOf } from './kinds.ts'
import { matchPath, pathOfVariable, settingsBelow, variableOf } from './names.ts'

/** The documentation of a setting. */
export type Explanation = ReturnType<typeof explain>

const all = Object.keys(definitions) as SettingPath[]

export function explain(path: SettingPath) {
  const { type, default: fallback, example, doc, secret }: Setting = definitions[path]
  return {
    path,
    variable: variableOf(path),
    /** The setting and the variable for a file instead of the value; null unless it is a secret. */
    file: secret ? { path: `${path}File`, variable: variableOf(`${path}File`) } : null,
    /** Describes valid values. */
    type: descriptionOf(type),
    /** The default as a user would write it; null if there is none. */
    default: fallback === undefined ? null : String(fallback),
    example,
    secret,
    doc,
  }
}

/**
 * Finds settings by name: the path or variable itself and the settings below it; else those that begin with the name; else
 * those that end with it. Without a name, all settings.
 */
export function settingsNamed(name = ''): Explanation[] {
  const path = pathOfVariable(name) ?? name
  const exact = [matchPath(path)?.setting ?? [], settingsBelow(path)].flat()
  const begun = all.filter(one => one.startsWith(name) || variableOf(one).startsWith(name))
  const ended = all.filter(one => one.endsWith(`.${name}`))
  const found = [exact, begun, ended].find(some => some.length > 0) ?? []
  return found.map(explain)
}
