import { definitions, type Setting, type SettingPath } from './definitions.ts'
import { descriptionOf } from './kinds.ts'
import { matchPath, pathOfVariable, settingsBelow, variableOf } from './names.ts'

/** Explanation is what there is to know about a setting before it has a value. */
export interface Explanation {
  path: string
  variable: string
  /** The setting and the variable that name a file instead; null: it is no secret. */
  file: { path: string; variable: string } | null
  /** What a value is. */
  type: string
  /** The default as a user would write it; null: there is none. */
  default: string | null
  example: string
  secret: boolean
  doc: string
}

const all = Object.keys(definitions) as SettingPath[]

export function explain(path: SettingPath): Explanation {
  const { type, default: fallback, example, doc, secret }: Setting = definitions[path]
  return {
    path,
    variable: variableOf(path),
    file: secret ? { path: `${path}File`, variable: variableOf(`${path}File`) } : null,
    type: descriptionOf(type),
    default: fallback === undefined ? null : String(fallback),
    example,
    secret,
    doc,
  }
}

/**
 * The settings that a name stands for: that of the path or variable, with those below it, or else all that begin so, or
 * else all that end with it. Without a name they are all of them.
 */
export function settingsNamed(name = ''): Explanation[] {
  const path = pathOfVariable(name) ?? name
  const exact = [matchPath(path)?.setting ?? [], settingsBelow(path)].flat()
  const begun = all.filter(one => one.startsWith(name) || variableOf(one).startsWith(name))
  const ended = all.filter(one => one.endsWith(`.${name}`))
  const found = [exact, begun, ended].find(some => some.length > 0) ?? []
  return found.map(explain)
}
