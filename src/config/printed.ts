import { definitions, type SettingPath } from './definitions.ts'
import { hasPlaceholder } from './names.ts'
import { Secret } from './secret.ts'
import type { CheckedValues } from './types.ts'

type Tree = { [key: string]: unknown }

/**
 * The settings and their defaults in the form of the settings' file, which load again to the same settings. Leaves out what is
 * not set: a printed value that follows from others would no longer follow them. A secret is shown as ***, one from a file by
 * its path.
 */
export function printedTree(values: CheckedValues): Tree {
  const tree: Tree = {}
  for (const path of Object.keys(definitions) as SettingPath[]) {
    if (!hasPlaceholder(path)) put(tree, path, values[path])
    else for (const [key, value] of values[path] as ReadonlyMap<string, unknown>) put(tree, withKey(path, key), value)
  }
  return tree
}

const withKey = (path: string, key: string) => path.replace(/NAME|TYPE/, () => key)

function put(tree: Tree, path: string, value: unknown): void {
  if (value === undefined) return
  const file = value instanceof Secret ? value.file : null
  const keys = (file === null ? path : `${path}File`).split('.')
  const last = keys.pop()!
  let section = tree
  for (const key of keys) {
    if (typeof section[key] !== 'object') section[key] = {} // kafka.ssl, a flag, if there are certificates
    section = section[key] as Tree
  }
  section[last] = file ?? (value instanceof Secret ? String(value) : value)
}
