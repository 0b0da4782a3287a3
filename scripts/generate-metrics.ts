/**
 * Writes docs/metrics.md from the definitions of the metrics.
 */
import {
  definitionOf,
  type LabelValues,
  type MetricName,
  metricDefinitions,
  openLabels,
} from '../src/telemetry/definitions.ts'
import { writeGenerated } from './generated-file.ts'

const header = `# Metrics

Made by scripts/generate-metrics.ts from src/telemetry/definitions.ts: change that and run npm run generate.

Every process serves them at \`/metrics\` (telemetry.port), in the text format of Prometheus. The metrics of Node.js and of the process (\`nodejs_*\`, \`process_*\`) are there too.

Names and labels stay. No label holds an id, a phone number, a text or a key. Where a label's values are a closed list, its series are there from the start with 0, so that \`rate()\` and alerts see the first event; a value off its list counts as \`other\`. Series whose labels name topics or accounts are there from the start for those of the settings. Gauges marked "now" are asked for at the scrape: those with labels exist where the role they tell of runs, the others are 0 elsewhere.

| metric | type | labels | meaning | what to do |
|---|---|---|---|---|
`

function row(name: MetricName): string {
  const { type, labels, meaning, action, asked } = definitionOf(name)
  const cells = [`\`busgate_${name}\``, asked ? `${type}, now` : type, labelsOf(labels), meaning, action]
  return `| ${cells.join(' | ')} |\n`
}

function labelsOf(labels: Readonly<Record<string, LabelValues>>): string {
  const names = Object.keys(labels)
  return names.length === 0 ? 'none' : names.map(label => `\`${label}\``).join(', ')
}

/** Each closed list once, with the metrics that have it. */
function valuesOfLabels(): string {
  const rows = new Map<string, string[]>()
  for (const name of Object.keys(metricDefinitions) as MetricName[]) {
    for (const [label, values] of Object.entries(definitionOf(name).labels)) {
      const text = typeof values === 'string' ? openLabels[values] : values.map(value => `\`${value}\``).join(', ')
      const key = `| \`${label}\` | ${text.replace('``', 'empty')} |`
      rows.set(key, [...(rows.get(key) ?? []), `\`${name}\``])
    }
  }
  return [...rows].map(([cells, metrics]) => `${cells} ${metrics.join(', ')} |\n`).join('')
}

const labels = `
## Labels

| label | values | of |
|---|---|---|
`

function bucketsOf(name: MetricName): string {
  const { buckets } = definitionOf(name)
  return buckets ? `| \`${name}\` | ${buckets.join(', ')} |\n` : ''
}

const buckets = `
## Buckets

| histogram | upper bounds, in the unit of its name |
|---|---|
`

const names = Object.keys(metricDefinitions) as MetricName[]
const text = [header, ...names.map(row), labels, valuesOfLabels(), buckets, ...names.map(bucketsOf)].join('')
writeGenerated('docs/metrics.md', text)
