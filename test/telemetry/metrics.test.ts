import { describe, expect, it } from 'vitest'
import type { GaugeSource } from '../../src/telemetry/definitions.ts'
import { definitionOf, type MetricName, metricDefinitions } from '../../src/telemetry/definitions.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { createMetrics, type MetricsOptions } from '../../src/telemetry/metrics.ts'
import type { DoubtCause } from '../../src/vocabulary/lists.ts'
import { buildEvents, fencedError } from '../support/events.ts'
import { contract, metricsIn, ownSeries, samplesOf } from '../support/metrics.ts'

/** Starts the metrics of a new emitter. `scrape` returns the samples as Prometheus reads them. */
function startMetrics(options?: MetricsOptions) {
  const telemetry = new Telemetry()
  const metrics = createMetrics(telemetry, options)
  return { telemetry, scrape: async () => samplesOf(await metrics.metrics()) }
}

function emitAll(telemetry: Telemetry, n: number): void {
  const each = buildEvents(n)
  for (const name of Object.keys(each) as (keyof Events)[]) telemetry.emit(name, ...([each[name]] as [never]))
}

describe('metrics', () => {
  it('have their stable names and labels', async () => {
    const { telemetry, scrape } = startMetrics({ version: '1.2.3', roles: ['worker'], gauges: [allGauges] })
    emitAll(telemetry, 1)
    expect(metricsIn(await scrape()), 'the contract is in test/support/metrics.ts').toEqual(contract)
  })

  it('change with an event, unless they are read at the scrape', async () => {
    const { telemetry, scrape } = startMetrics({ roles: ['worker'] })
    emitAll(telemetry, 1)
    const samples = [...(await scrape())]
    const names = Object.keys(metricDefinitions).filter(name => !definitionOf(name as MetricName).readAtScrape)
    const changed =
      (name: string) =>
      ([series, value]: [string, number]) =>
        value > 0 && series.split('{')[0]!.replace(/_(bucket|sum|count)$/, '') === `busgate_${name}`
    expect(names.filter(name => !samples.some(changed(name)))).toEqual([])
  })

  it('exist with 0 from the start if the values of their labels are known', async () => {
    const { scrape } = startMetrics({ topic: ['urgent', 'bulk'], account: ['default'] })
    const samples = await scrape()
    for (const series of [
      'commands_consumed_total{topic="bulk"}',
      'results_published_total{type="viber+sms",outcome="SENT",error_code=""}',
      'results_published_total{type="sms",outcome="REJECTED",error_code="INSUFFICIENT_FUNDS"}',
      'envelopes_total{account="default",outcome="unknown"}',
      'gateway_retries_total{reason="throttled"}',
      'doubts_total{cause="timeout"}',
      'resolutions_total{outcome="UNRESOLVED"}',
      'status_polls_total{result="unanswered"}',
      'sessions_fenced_total',
      'callbacks_total{type="other",state="FAILED",verified="false"}',
      'callback_rejections_total{reason="not_published"}',
      'callbacks_missing_total{type="rcs"}',
      'verdicts_found_total{type="rcs",state="UNKNOWN"}',
      'dead_letters_total{stage="callback",code="NO_NUMERIC_ID"}',
      'delivery_latency_seconds_count{type="sms"}',
      'rate_wait_seconds_count',
    ]) {
      expect(samples.get(`busgate_${series}`), series).toBe(0)
    }
    expect(ownSeries(samples)).not.toContainEqual(expect.stringContaining('outcome="SENT",error_code="VALIDATION"'))
    expect(ownSeries(samples)).not.toContainEqual(expect.stringContaining('stage="callback",code="DECODE"'))
  })

  it('count the callbacks whose status contradicts their success', async () => {
    const { telemetry, scrape } = startMetrics()
    const callback = { type: 'sms', commandType: 'sms', country: 'UA', state: 'FAILED', verified: true } as const
    for (const contradicts of [true, false]) telemetry.emit('callback.accepted', { ...callback, contradicts })
    expect((await scrape()).get('busgate_callback_contradictions_total{type="sms"}')).toBe(1)
  })

  it('count verified verdicts by type and frequent country, from callbacks and polls', async () => {
    const { telemetry, scrape } = startMetrics()
    const callback = { type: 'sms', commandType: 'viber+sms', state: 'DELIVERED', contradicts: false } as const
    for (const country of ['UA', 'TV', null])
      telemetry.emit('callback.accepted', { ...callback, country, verified: true })
    telemetry.emit('callback.accepted', { ...callback, commandType: null, country: null, verified: false })
    telemetry.emit('verdict.found', { type: 'viber+sms', country: 'UA', state: 'DELIVERED' })
    const verdicts = [...(await scrape())].filter(([series, value]) => series.includes('_verdicts_total') && value > 0)
    expect(Object.fromEntries(verdicts)).toEqual({
      'busgate_verdicts_total{type="viber+sms",country="UA",state="DELIVERED"}': 2,
      'busgate_verdicts_total{type="viber+sms",country="other",state="DELIVERED"}': 2,
    })
  })

  it('measure the delivery latency by country, with rare countries as one', async () => {
    const { telemetry, scrape } = startMetrics()
    for (const [country, seconds] of [
      ['UA', 8],
      ['UA', 20],
      ['TV', 400],
      [null, 4000],
    ] as const) {
      telemetry.emit('delivery.latency', { type: 'sms', country, seconds })
    }
    const samples = await scrape()
    const sample = (series: string) => samples.get(`busgate_country_delivery_latency_seconds_${series}`)
    expect(sample('bucket{le="10",country="UA"}')).toBe(1)
    expect(sample('bucket{le="60",country="UA"}')).toBe(2)
    expect(sample('sum{country="UA"}')).toBe(28)
    expect(sample('sum{country="other"}')).toBe(4400)
  })

  it('name the tenants in the settings, and all others as one', async () => {
    const { telemetry, scrape } = startMetrics({ tenant: ['shop', 'bank'] })
    const shares = new Map([
      ['shop', { count: 2, parts: 3 }],
      ['made up', { count: 1, parts: 1 }],
      [null, { count: 1, parts: 4 }],
    ])
    const sums = { count: 4, parts: 8, price: 0 }
    telemetry.emit('results.published', {
      type: 'sms',
      account: 'a',
      outcome: 'SENT',
      errorCode: null,
      ...sums,
      shares,
    })
    const samples = await scrape()
    const of = (tenant: string) => [
      samples.get(`busgate_tenant_results_total{tenant="${tenant}",outcome="SENT"}`),
      samples.get(`busgate_tenant_parts_total{tenant="${tenant}"}`),
    ]
    expect(['shop', 'bank', 'other'].map(of)).toEqual([
      [2, 3],
      [0, 0],
      [2, 5],
    ])
  })

  it('count an unknown label value as other', async () => {
    const { telemetry, scrape } = startMetrics()
    for (const cause of ['made', 'up'] as unknown[] as DoubtCause[]) telemetry.emit('doubt.opened', { cause, count: 1 })
    expect((await scrape()).get('busgate_doubts_total{cause="other"}')).toBe(2)
  })

  it('show one balance for each account, in its latest currency', async () => {
    const { telemetry, scrape } = startMetrics()
    for (const currency of ['UAH', 'EUR']) telemetry.emit('balance.read', { account: 'a', currency, amount: 5 })
    telemetry.emit('balance.read', { account: 'b', currency: 'PLN', amount: 0 })
    expect(ownSeries(await scrape()).filter(series => series.includes('balance'))).toEqual([
      'busgate_account_balance{account="a",currency="EUR"}',
      'busgate_account_balance{account="b",currency="PLN"}',
    ])
  })

  it('add the numbers in the events', async () => {
    const { telemetry, scrape } = startMetrics()
    for (const count of [40, 2]) telemetry.emit('commands.consumed', { topic: 'a', count })
    telemetry.emit('log.cut', { ...buildEvents(1)['log.cut'], unsent: 1, unread: 2, perhapsSent: 3, unchecked: 1 })
    telemetry.emit('envelope.finished', { account: 'default', outcome: 'answered', operations: 100, seconds: 0.02 })
    const samples = await scrape()
    expect(samples.get('busgate_commands_consumed_total{topic="a"}')).toBe(42)
    expect(samples.get('busgate_offsets_lost_total')).toBe(7)
    expect(samples.get('busgate_envelope_operations_bucket{le="50"}')).toBe(0)
    expect(samples.get('busgate_envelope_operations_bucket{le="100"}')).toBe(1)
  })

  it('count a session as fenced only if a newer owner ended it', async () => {
    const { telemetry, scrape } = startMetrics()
    const lost = { topic: 'a', partition: 0, stage: 'commit' } as const
    telemetry.emit('session.lost', { ...lost, error: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
    expect((await scrape()).get('busgate_sessions_fenced_total')).toBe(0)
    telemetry.emit('session.lost', { ...lost, error: fencedError(1) })
    expect((await scrape()).get('busgate_sessions_fenced_total')).toBe(1)
  })

  it('drop partitions that were lost since the last scrape', async () => {
    const lag = (partition: string, value: number) =>
      ({ name: 'consumer_lag_records', labels: { topic: 'a', partition }, value }) as const
    let readings = [lag('0', 5), lag('1', 6)]
    const { scrape } = startMetrics({ gauges: [{ read: () => readings }] })
    expect((await scrape()).get('busgate_consumer_lag_records{topic="a",partition="0"}')).toBe(5)
    readings = [lag('1', 7)]
    const later = await scrape()
    expect(ownSeries(later).filter(name => name.includes('lag'))).toEqual([
      'busgate_consumer_lag_records{topic="a",partition="1"}',
    ])
    expect(later.get('busgate_consumer_lag_records{topic="a",partition="1"}')).toBe(7)
  })

  it('include sources that were added later, and add several sources of one series', async () => {
    const sources = new Set<GaugeSource>()
    const { scrape } = startMetrics({ gauges: sources })
    const open = (value: number) => ({ read: () => [{ name: 'doubts_open', labels: {}, value } as const] })
    sources.add(open(2)).add(open(3))
    expect((await scrape()).get('busgate_doubts_open')).toBe(5)
  })
})

/** Provides a value of each gauge that is read at the scrape. */
const allGauges: GaugeSource = {
  read: () =>
    (Object.keys(metricDefinitions) as MetricName[])
      .filter(name => definitionOf(name).readAtScrape)
      .map(name => {
        const labels = Object.keys(definitionOf(name).labels)
        return { name, labels: Object.fromEntries(labels.map(label => [label, 'any'])), value: 1 } as never
      }),
}
