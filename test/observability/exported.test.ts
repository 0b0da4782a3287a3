import { Gauge } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { definitionOf, type MetricName, metricDefinitions } from '../../src/telemetry/definitions.ts'
import { until } from '../support/bus.ts'
import { collectGarbage } from '../support/garbage.ts'
import { contract, metricsIn, scrape } from '../support/metrics.ts'
import { startWorld } from '../support/worker.ts'
import { alerts, panels, questions, rules } from './sources.ts'

const histogramSuffixes = ['bucket', 'sum', 'count']
/** Names of metrics and of recording rules: `busgate_…`, `busgate:…`, `nodejs_…`, `process_…`. */
const names = /\b(?:busgate|nodejs|process)[_:][\w:]+/g
const differs =
  'test/support/metrics.ts must list what a worker exports; a metric with an open label is exported only after an event, ' +
  'unless `start` in src/telemetry/definitions.ts gives values of that label'
/** Recording rules that exist only if their limit is set. */
const ofLimits = ['busgate:limit_balance']

test('every metric of dashboards, rules and alerts is exported by a running worker', async () => {
  const world = await startWorld({ settings: { gateway: { balanceIntervalMs: 60_000 } } })
  const scraped = () => scrape(world.worker.ports.telemetry)
  await until(async () => expect(metricsIn(await scraped()), differs).toEqual(contract)) // until the balance has been read
  await until(async () => {
    collectGarbage() // its series appear after the first collection
    expect([...(await scraped()).keys()].join()).toContain('nodejs_gc_duration_seconds_sum')
  })
  const samples = await scraped()
  const known = new Set([...ofLimits, ...rules.flatMap(({ record }) => record ?? [])])
  for (const series of samples.keys()) known.add(series.split('{')[0]!)
  for (const name of Object.keys(metricsIn(samples))) {
    for (const end of ['', ...histogramSuffixes.map(suffix => `_${suffix}`)]) known.add(`busgate_${name}${end}`)
  }
  const queries = panels.flatMap(({ dashboard, panel }) =>
    panel.targets!.map(({ expr }) => ({ where: `${dashboard.title}, ${panel.title}`, expr })),
  )
  const ofRules = rules.map(({ record, alert, expr }) => ({ where: record ?? alert, expr }))
  const ofDocument = questions.flatMap(one => one.queries.map(expr => ({ where: 'docs/analytics.md', expr })))
  for (const { where, expr } of [...queries, ...ofRules, ...ofDocument]) {
    const used = expr.replaceAll(/"[^"]*"/g, '').match(names) ?? []
    expect(
      used.filter(name => !known.has(name)),
      where,
    ).toEqual([])
  }
  expect(alerts.length + queries.length).toBeGreaterThan(80)
})

/** Metrics without a panel or a rule, and where to see them. */
const unwatched = {
  commands_answered_before_total: 'answered.found in the log',
  account_held_back_since_seconds: 'busgate status, and the summaries of alerts',
  callback_contradictions_total: 'the status events themselves',
  offsets_lost_total: 'log.cut in the log, and dead letters, with the offsets',
  records_shortened_total: 'record.shortened in the log, with the topic',
  withdrawals: 'busgate status',
}

test('every metric is on a dashboard or in a rule, except those shown elsewhere', () => {
  const queries = [...panels.flatMap(({ panel }) => panel.targets!), ...rules].map(({ expr }) => expr).join('\n')
  const unused = Object.keys(metricDefinitions).filter(
    name => !new RegExp(`busgate_${name}(_bucket|_sum|_count)?\\b`).test(queries),
  )
  expect(unused.sort(), 'add a panel in scripts/dashboards, or a line to unwatched').toEqual(
    Object.keys(unwatched).sort(),
  )
})

test('every gauge that is collected at a scrape has a source in some role', async () => {
  const inc = vi.spyOn(Gauge.prototype, 'inc')
  onTestFinished(() => inc.mockRestore())
  const world = await startWorld({ settings: { roles: 'worker,callbacks,reconciler', reconciler: { rate: 5 } } })
  const expected = Object.keys(metricDefinitions).filter(name => definitionOf(name as MetricName).readAtScrape)
  await until(async () => {
    await scrape(world.worker.ports.telemetry)
    const read = new Set(inc.mock.contexts.map(gauge => (gauge as unknown as { name: string }).name))
    expect(expected.filter(name => !read.has(`busgate_${name}`))).toEqual([])
  })
})
