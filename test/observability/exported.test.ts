import { Gauge } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { definitionOf, type MetricName, metricDefinitions } from '../../src/telemetry/definitions.ts'
import { until } from '../support/bus.ts'
import { collectGarbage } from '../support/garbage.ts'
import { contract, metricsIn, type Samples, scrape } from '../support/metrics.ts'
import { startWorld } from '../support/worker.ts'
import { namesIn } from './promql.ts'
import { alerts, panels, rules } from './sources.ts'

/** Prometheus adds these to each series, or makes them itself. */
const ofTargets = ['namespace', 'job', 'instance']
const ofPrometheus: Record<string, string[]> = { up: [], ALERTS: ['alertname', 'alertstate', 'severity'] }
/** Recorded only where somebody sets it. */
const ofLimits = { 'busgate:limit_balance': ['currency'] }
const ofHistograms = ['bucket', 'sum', 'count']

type LabelsOf = (metric: string) => readonly string[] | undefined

/** The labels of every series that exists once Prometheus scrapes these samples and evaluates the rules. */
function labelsIn(samples: Samples): LabelsOf {
  const own = metricsIn(samples)
  const all = new Map(Object.entries({ ...ofPrometheus, ...ofLimits }))
  for (const series of samples.keys()) all.set(series.split('{')[0]!, [])
  for (const [name, labels] of Object.entries(own)) {
    all.set(`busgate_${name}`, labels)
    for (const suffix of ofHistograms) all.set(`busgate_${name}_${suffix}`, [...labels, 'le'])
  }
  for (const { record, expr, labels = {} } of rules) {
    if (!record) continue
    const { metrics, groupings } = namesIn(expr)
    const ofRule = groupings.length > 0 ? groupings : metrics.flatMap(({ name }) => all.get(name) ?? [])
    all.set(record, [...ofRule, ...Object.keys(labels), ...(all.get(record) ?? [])])
  }
  return metric => all.get(metric)
}

/** What an expression, or a text that is written about its series, uses and nothing exports. */
function missing(expression: string, texts: readonly string[], labelsOf: LabelsOf): string[] {
  const { metrics, groupings } = namesIn(expression)
  const anywhere = metrics.flatMap(({ name }) => labelsOf(name) ?? [])
  const inTexts = texts.flatMap(text =>
    [...text.matchAll(/\{\{-?\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label]) => label!),
  )
  return [
    ...metrics.flatMap(({ name, labels }) => {
      const known = labelsOf(name)
      if (!known) return [name]
      return labels.filter(label => ![...known, ...ofTargets].includes(label)).map(label => `${name}{${label}}`)
    }),
    ...[...groupings, ...inTexts].filter(label => ![...anywhere, ...ofTargets].includes(label)),
  ]
}

test('every metric and label of dashboards, rules and alerts is exported by a running worker', async () => {
  const world = await startWorld({ settings: { gateway: { balanceIntervalMs: 60_000 } } })
  const scraped = () => scrape(world.worker.ports.telemetry)
  await until(async () => expect(metricsIn(await scraped())).toEqual(contract)) // the balance is read soon
  await until(async () => {
    collectGarbage() // its series exist once there was something to measure
    expect([...(await scraped()).keys()].join()).toContain('nodejs_gc_duration_seconds_sum')
  })
  const labelsOf = labelsIn(await scraped())

  for (const { record, alert, expr, annotations = {} } of rules) {
    expect(missing(expr, Object.values(annotations), labelsOf), record ?? alert).toEqual([])
  }
  const queries = panels.flatMap(({ dashboard, panel }) =>
    panel.targets!.map(target => ({ where: `${dashboard.title}, ${panel.title}`, ...target })),
  )
  for (const { where, expr, legendFormat } of queries)
    expect(missing(expr, [legendFormat], labelsOf), where).toEqual([])
  expect(alerts.length + queries.length).toBeGreaterThan(80)
})

test('every gauge that is asked for at a scrape is read by some role', async () => {
  const inc = vi.spyOn(Gauge.prototype, 'inc')
  onTestFinished(() => inc.mockRestore())
  const world = await startWorld({ settings: { roles: 'worker,callbacks,reconciler', reconciler: { rate: 5 } } })
  const asked = Object.keys(metricDefinitions).filter(name => definitionOf(name as MetricName).asked)
  await until(async () => {
    await scrape(world.worker.ports.telemetry)
    const read = new Set(inc.mock.contexts.map(gauge => (gauge as unknown as { name: string }).name))
    expect(asked.filter(name => !read.has(`busgate_${name}`))).toEqual([])
  })
})

test('a metric, a label of a selector, of a grouping or of a legend that nobody exports is found', () => {
  const labelsOf: LabelsOf = metric => (metric === 'busgate_doubts_total' ? ['cause'] : undefined)
  expect(
    missing('sum by (cause, job) (rate(busgate_doubts_total{cause="reset"}[5m]))', ['{{cause}}'], labelsOf),
  ).toEqual([])
  expect(missing('rate(busgate_doubt_total[5m]) > bool 2 * busgate_doubts_total', [], labelsOf)).toEqual([
    'busgate_doubt_total',
  ])
  expect(missing('busgate_doubts_total{reason="by (x)"}', [], labelsOf)).toEqual(['busgate_doubts_total{reason}'])
  expect(missing('sum by (reason) (busgate_doubts_total) / on (topic) vector(1)', ['{{account}}'], labelsOf)).toEqual([
    'reason',
    'topic',
    'account',
  ])
})
