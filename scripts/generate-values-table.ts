/**
 * Writes helm/VALUES.md: every value of the chart, from helm/values.schema.json, with its default and the comment above it
 * in helm/values.yaml.
 */
import { readFileSync } from 'node:fs'
import { isMap, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { writeGenerated } from './generated-file.ts'

interface Schema {
  enum?: unknown[]
  properties?: Record<string, Schema>
}

const read = (file: string) => readFileSync(new URL(`../helm/${file}`, import.meta.url), 'utf8')
const schema = JSON.parse(read('values.schema.json')) as Schema
interface Row {
  path: string
  given: string
  about: string
}

function rowsOf(map: YAMLMap, { properties = {} }: Schema, prefix: string): Row[] {
  return (map.items as Pair<Node, Node>[]).flatMap(({ key, value }, i) => {
    const path = `${prefix}${key}`
    const below = properties[String(key)]
    if (!below) throw new Error(`helm/values.yaml: ${path} is not in values.schema.json`)
    // YAML attaches the comment above a map's first key to the map.
    const about = (i === 0 ? map.commentBefore : null) ?? key.commentBefore ?? ''
    if (isMap(value) && below.properties && value.items.length > 0) {
      const rows = rowsOf(value, below, `${path}.`)
      return about ? [{ path, given: '', about }, ...rows] : rows
    }
    const choices = below.enum ? `One of ${below.enum.map(one => `\`${one || '""'}\``).join(', ')}. ` : ''
    return [{ path, given: JSON.stringify(value), about: choices + about }]
  })
}

const cell = (text: string) => text.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')

const rows = rowsOf(parseDocument(read('values.yaml')).contents as YAMLMap, schema, '').map(
  ({ path, given, about }) => `| \`${path}\` | ${given && `\`${cell(given)}\``} | ${cell(about)} |`,
)

writeGenerated(
  'helm/VALUES.md',
  `# Values of the chart

<!-- Made by scripts/generate-values-table.ts from values.schema.json and values.yaml: change those and run npm run generate. -->

The settings below \`config\` are those of [docs/settings.md](../docs/settings.md).

| value | default | meaning |
|---|---|---|
${rows.join('\n')}
`,
)
