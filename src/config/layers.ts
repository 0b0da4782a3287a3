import { readFileSync } from 'node:fs'
import { type Document, isMap, isNode, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { isObject } from '../protocol/json.ts'
import type { SettingProblem } from './errors.ts'
import { isSection, type Match, matchPath, nearestTo, pathOfVariable } from './names.ts'

/** A value as given, before validation. */
export interface GivenValue extends Match {
  where: string
  value: unknown
}

/** The values of one source, and its names that are not settings. */
export interface Layer {
  given: GivenValue[]
  problems: SettingProblem[]
}

/** Reads a YAML file. @param origin where the file was named: `--config` or BUSGATE_CONFIG */
export function fileLayer(file: string, origin: string): Layer {
  try {
    return yamlLayer(readFileSync(file, 'utf8'), file)
  } catch (error) {
    const what = `cannot read ${file} (${(error as NodeJS.ErrnoException).code})`
    return { given: [], problems: [{ path: origin, where: origin, what, example: 'busgate.yaml' }] }
  }
}

/**
 * Reads variables that begin with BUSGATE_; an empty one counts as not given. Ignores those that Kubernetes adds for a
 * service named busgate (BUSGATE_SERVICE_HOST, BUSGATE_PORT=tcp://…).
 */
export function environmentLayer(env: Record<string, string | undefined>): Layer {
  const layer: Layer = { given: [], problems: [] }
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith('BUSGATE_') || variable === 'BUSGATE_CONFIG') continue
    if (value === undefined || isServiceLink(variable, value)) continue
    const path = pathOfVariable(variable)
    if (path === undefined) {
      layer.problems.push({
        path: variable,
        where: variable,
        what: `is not a setting; ${nearestTo(variable)}`,
      })
    } else if (value !== '') {
      layer.given.push({ ...matchPath(path)!, where: variable, value })
    }
  }
  return layer
}

/** Reads a tree of sections, such as a file's. @param where names the place of a value by the keys that lead to it */
export function treeLayer(tree: unknown, where: (keys: string[]) => string): Layer {
  const layer: Layer = { given: [], problems: [] }
  const visit = (value: unknown, keys: string[]) => {
    const path = keys.join('.')
    const match = isObject(value) && !isEmpty(value) && isSection(path) ? undefined : matchPath(path)
    if (match && value !== null && value !== undefined) return layer.given.push({ ...match, where: where(keys), value })
    if (match || (keys.length > 0 && isEmpty(value) && isSection(path))) return undefined
    if (isObject(value) && (keys.length === 0 || !isEmpty(value))) {
      for (const [key, child] of Object.entries(value)) visit(child, [...keys, key])
      return undefined
    }
    const what = isSection(path) ? 'expected a map of settings' : `is not a setting; ${nearestTo(path)}`
    return layer.problems.push({ path, where: where(keys), what })
  }
  visit(tree ?? {}, [])
  return layer
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (isObject(value) && Object.keys(value).length === 0)
}

function isServiceLink(variable: string, value: string): boolean {
  if (/_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(variable)) return true
  return variable.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value)
}

function yamlLayer(source: string, file: string): Layer {
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const { contents, errors } = document
  const at = (offset: number) => `${file}:${lines.linePos(offset).line}`
  if (errors.length > 0) {
    return { given: [], problems: errors.map(error => yamlProblem(error.message, at(error.pos[0]))) }
  }
  if (contents !== null && !isMap(contents)) {
    return { given: [], problems: [yamlProblem('expected a map of sections', at(0))] }
  }
  const oddKey = offsetOfOddKey(document)
  if (oddKey !== null) return { given: [], problems: [yamlProblem('a key is a list or a map', at(oddKey))] }
  let tree: unknown
  try {
    tree = document.toJS()
  } catch (error) {
    return { given: [], problems: [yamlProblem((error as Error).message, file)] }
  }
  return treeLayer(tree, keys => at(offsetOf(contents, keys)))
}

/** Position of a key that is not a scalar. As text, it would be a name that contains values. */
function offsetOfOddKey(document: Document): number | null {
  let offset: number | null = null
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key)) return undefined
      offset = (isNode(key) && key.range?.[0]) || 0
      return visit.BREAK
    },
  })
  return offset
}

/** Only the parser's message before its quotation of the file, which may contain secrets. */
function yamlProblem(message: string, where: string): SettingProblem {
  return { path: 'YAML', where, what: message.split(': ')[0]! }
}

/** Position in the file of the last key that can be found; an alias ends the search. */
function offsetOf(node: unknown, keys: string[]): number {
  let offset = 0
  let current = node
  for (const key of keys) {
    const pair = isMap(current) ? current.items.find(item => isPair(item) && String(item.key) === key) : undefined
    if (!pair) break
    offset = (pair.key as { range?: [number, number, number] }).range?.[0] ?? offset
    current = pair.value
  }
  return offset
}
