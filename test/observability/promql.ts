/** What an expression of PromQL names: metrics with the labels of their matchers, and labels to group or match by. */
export interface Names {
  metrics: { name: string; labels: string[] }[]
  groupings: string[]
}

const grouping = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)/g
const words = new Set(['and', 'or', 'unless', 'bool', 'offset'])
const aggregations = new Set(['sum', 'min', 'max', 'avg', 'count', 'group'])

/** Reads the expressions that are used here; not a parser of the language. */
export function namesIn(expression: string): Names {
  const bare = expression.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\[[^\]]*\]/g, '')
  const groupings = Array.from(bare.matchAll(grouping), ([, labels]) => labels!.match(/\w+/g) ?? []).flat()
  const names = bare.replace(grouping, '').matchAll(/(?<![\w.])([a-z_:][\w:]*)\s*(\(|\{([^}]*)\})?/gi)
  const metrics = Array.from(names, ([, name, after, matchers = '']) => ({ name: name!, after, matchers }))
    .filter(({ name, after }) => after !== '(' && !words.has(name) && !aggregations.has(name))
    .map(({ name, matchers }) => ({
      name,
      labels: Array.from(matchers.matchAll(/(\w+)\s*[=!]/g), ([, label]) => label!),
    }))
  return { metrics, groupings }
}
