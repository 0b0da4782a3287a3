/**
 * Writes docs/metrics.md from the definitions of the metrics.
 */
import { definitionOf, type MetricName, metricDefinitions } from '../src/telemetry/definitions.ts'
import { type LabelValues, openLabels } from '../src/telemetry/labels.ts'
import { writeGenerated } from './generated-file.ts'

const header = `# Metrics

<!-- Made by scripts/generate-metrics.ts from src/telemetry/definitions.ts: change that and run npm run generate. -->

For operators: every metric, what it means, and what to do. Each process serves them at \`/metrics\` (telemetry.port), in the text format of Prometheus, together with those of Node.js and the process (\`nodejs_*\`, \`process_*\`).

Names and labels are stable. No label holds an id, a phone number, a text or a key. If the values of a label are a closed list, or topics or accounts of the settings, all series exist from the start with 0, so that \`rate()\` and alerts see the first event; other values count as \`other\`. Series of a country begin with its first message. Gauges marked "now" are read at the scrape; those with labels exist only where their role runs.

\`/healthz\` on the same port answers 503 once the process cannot continue (\`worker.failed\` in the [log](logs.md)), such as after five minutes without progress; \`busgate run\` then exits by itself. Poll it to restart a process that answers 503 or not at all. Poll \`/readyz\` for alerts and rollouts; a restart repairs none of its [reasons](operating.md#readiness).

Without Helm: in Grafana, import each file of \`helm/dashboards\` (*Dashboards*, *New*, *Import*) and choose your Prometheus as its data source. In Prometheus, name \`helm/alerts/busgate.rules.yaml\` in \`rule_files\`, after you have followed the comment at its top.

| metric | type | labels | meaning | what to do |
|---|---|---|---|---|
`

function row(name: MetricName): string {
  const { type, labels, meaning, action, readAtScrape } = definitionOf(name)
  const cells = [`\`busgate_${name}\``, readAtScrape ? `${type}, now` : type, labelsOf(labels), meaning, action]
  return `| ${cells.join(' | ')} |\n`
}

function labelsOf(labels: Readonly<Record<string, LabelValues>>): string {
  const names = Object.keys(labels)
  return names.length === 0 ? 'none' : names.map(label => `\`${label}\``).join(', ')
}

/** Each closed list of label values, with the metrics that use it. */
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
