import { getHeapStatistics } from 'node:v8'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import {
  type CounterName,
  definitionOf,
  type EventGaugeName,
  type GaugeSource,
  type HistogramName,
  type LabelsOf,
  type MetricName,
  metricDefinitions,
} from './definitions.ts'
import { codeOf } from './error.ts'
import type { Telemetry } from './events.ts'
import { type LabelValues, other } from './labels.ts'

export interface MetricsOptions extends Partial<KnownLabels> {
  /** Version for build_info. */
  version?: string
  /** Roles of this process, for build_info. */
  roles?: readonly string[]
  /** Read at each scrape; sources may be added and removed. */
  gauges?: Iterable<GaugeSource>
}

/**
 * Sampling interval of the event-loop lag, milliseconds. Each sample wakes the process: prom-client's default of 10 ms causes
 * half of an idle worker's CPU use.
 */
const lagPrecisionMs = 100

/** Error codes of a session whose partition has a newer owner. */
const fencedCodes = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED'])

/** Counts events in metrics with stable names. No label contains an id, a phone number or foreign text. */
export function createMetrics(telemetry: Telemetry, options: MetricsOptions = {}): Registry {
  const { version = 'unknown', roles = [], gauges = [], topic = [], account = [], tenant = [] } = options
  const meters = createMeters({ topic, account, tenant: [...tenant, other] }, gauges)
  collectDefaultMetrics({ register: meters.registry, eventLoopMonitoringPrecision: lagPrecisionMs })
  for (const role of roles) meters.set('build_info', { version, role }, 1)
  meters.set('heap_limit_bytes', {}, getHeapStatistics().heap_size_limit)
  countCommands(telemetry, meters, new Set(tenant))
  countRequests(telemetry, meters)
  countTrouble(telemetry, meters)
  countCallbacks(telemetry, meters)
  showBalances(telemetry, meters)
  return meters.registry
}

function countCommands(telemetry: Telemetry, { count }: Meters, tenants: ReadonlySet<string>): void {
  telemetry.on('commands.consumed', ({ topic, count: by }) => count('commands_consumed_total', { topic }, by))
  telemetry.on('answered.found', ({ topic, count: by }) => count('commands_answered_before_total', { topic }, by))
  telemetry.on('results.published', ({ type, account, outcome, errorCode, count: by, parts, price, shares }) => {
    count('results_published_total', { type, outcome, error_code: errorCode ?? '' }, by)
    if (account !== null && parts > 0) count('parts_total', { account, type }, parts)
    if (account !== null && price > 0) count('price_total', { account, type }, price)
    for (const [name, share] of shares) {
      const tenant = name !== null && tenants.has(name) ? name : other
      count('tenant_results_total', { tenant, outcome }, share.count)
      if (share.parts > 0) count('tenant_parts_total', { tenant }, share.parts)
    }
  })
  telemetry.on('country.refused', ({ account, country, count: by }) =>
    count('country_refusals_total', { account, country: country ?? other }, by),
  )
}

function countRequests(telemetry: Telemetry, { count, observe }: Meters): void {
  telemetry.on('envelope.finished', ({ account, outcome, operations, seconds }) => {
    count('envelopes_total', { account, outcome })
    observe('envelope_operations', {}, operations)
    observe('gateway_request_duration_seconds', {}, seconds)
  })
  telemetry.on('commit.confirmed', ({ seconds }) => observe('commit_duration_seconds', {}, seconds))
  telemetry.on('gateway.retry', ({ reason, count: by }) => count('gateway_retries_total', { reason }, by))
  telemetry.on('rate.waited', ({ seconds }) => observe('rate_wait_seconds', {}, seconds))
}

function countTrouble(telemetry: Telemetry, { count }: Meters): void {
  telemetry.on('session.lost', ({ error }) => {
    if (fencedCodes.has(codeOf(error) ?? '')) count('sessions_fenced_total', {})
  })
  telemetry.on('doubt.opened', ({ cause, count: by }) => count('doubts_total', { cause }, by))
  telemetry.on('doubt.resolved', ({ outcome }) => count('resolutions_total', { outcome }))
  telemetry.on('status.polled', ({ result }) => count('status_polls_total', { result }))
  telemetry.on('log.cut', ({ unsent, unread, perhapsSent, unchecked }) =>
    count('offsets_lost_total', {}, unsent + unread + perhapsSent + unchecked),
  )
  telemetry.on('record.shortened', () => count('records_shortened_total', {}))
  telemetry.on('fault.contained', ({ handling }) => count('faults_total', { handling }))
  telemetry.on('deadLetter.published', ({ stage, code, count: by }) => count('dead_letters_total', { stage, code }, by))
}

function countCallbacks(telemetry: Telemetry, { count, observe }: Meters): void {
  telemetry.on('callback.accepted', ({ type, commandType, country, state, verified, contradicts }) => {
    count('callbacks_total', { type, state, verified: String(verified) })
    if (verified) count('verdicts_total', { type: commandType ?? other, country: country ?? other, state })
    if (contradicts) count('callback_contradictions_total', { type })
  })
  telemetry.on('callback.refused', ({ reason }) => count('callback_rejections_total', { reason }))
  telemetry.on('callback.missing', ({ type, count: by }) => count('callbacks_missing_total', { type }, by))
  telemetry.on('verdict.found', ({ type, country, state }) => {
    count('verdicts_found_total', { type, state })
    count('verdicts_total', { type, country: country ?? other, state })
  })
  telemetry.on('verdicts.forgotten', ({ count: by }) => count('verdicts_forgotten_total', {}, by))
  telemetry.on('hook.shortened', () => count('hooks_without_correlation_total', {}))
  telemetry.on('delivery.latency', ({ type, country, seconds }) => {
    observe('delivery_latency_seconds', { type }, seconds)
    observe('country_delivery_latency_seconds', { country: country ?? other }, seconds)
  })
}

/** Shows one balance per account: ends the series of a former currency. */
function showBalances(telemetry: Telemetry, { set, remove }: Meters): void {
  const shown = new Map<string, string>()
  telemetry.on('balance.read', ({ account, currency, amount }) => {
    const before = shown.get(account)
    if (before !== undefined && before !== currency) remove('account_balance', { account, currency: before })
    shown.set(account, currency)
    set('account_balance', { account, currency }, amount)
  })
}

/** Values of open labels that the settings name; their series exist from the start. */
export interface KnownLabels {
  topic: readonly string[]
  account: readonly string[]
  tenant: readonly string[]
}

/** The defined metrics, by name. */
export interface Meters {
  registry: Registry
  count<N extends CounterName>(name: N, labels: LabelsOf<N>, by?: number): void
  observe<N extends HistogramName>(name: N, labels: LabelsOf<N>, value: number): void
  set<N extends EventGaugeName>(name: N, labels: LabelsOf<N>, value: number): void
  /** Removes a series. */
  remove<N extends EventGaugeName>(name: N, labels: LabelsOf<N>): void
}

type Labels = Record<string, string>

/** @param sources read at each scrape; may be added and removed */
export function createMeters(known: KnownLabels, sources: Iterable<GaugeSource>): Meters {
  const registry = new Registry()
  const counters = new Map<MetricName, Counter>()
  const histograms = new Map<MetricName, Histogram>()
  const gauges = new Map<MetricName, Gauge>()
  for (const name of Object.keys(metricDefinitions) as MetricName[]) {
    const { type, labels, meaning: help, buckets = [], readAtScrape } = definitionOf(name)
    const config = { name: `busgate_${name}`, help, labelNames: Object.keys(labels), registers: [registry] }
    const starts = startsOf(name, known)
    if (type === 'counter') {
      const counter = new Counter(config)
      for (const start of starts) counter.inc(start, 0)
      counters.set(name, counter)
    } else if (type === 'histogram') {
      const histogram = new Histogram({ ...config, buckets: [...buckets] })
      for (const start of starts) histogram.zero(start)
      histograms.set(name, histogram)
    } else if (readAtScrape) registerScraped(name, config, sources)
    else gauges.set(name, new Gauge(config))
  }

  return {
    registry,
    count: (name, labels, value = 1) => counters.get(name)!.inc(listed(name, labels), value),
    observe: (name, labels, value) => histograms.get(name)!.observe(listed(name, labels), value),
    set: (name, labels, value) => gauges.get(name)!.set(listed(name, labels), value),
    remove: (name, labels) => gauges.get(name)!.remove(listed(name, labels)),
  }
}

/** Sums at each scrape the readings of all sources by labels; series without a reading end. */
function registerScraped(
  name: MetricName,
  config: { name: string; help: string; labelNames: string[]; registers: Registry[] },
  sources: Iterable<GaugeSource>,
): void {
  const gauge: Gauge = new Gauge({
    ...config,
    collect() {
      gauge.reset()
      for (const source of sources) {
        for (const reading of source.read()) if (reading.name === name) gauge.inc(reading.labels, reading.value)
      }
    },
  })
}

/** The labels, with `other` for values outside of their label's list. */
function listed(name: MetricName, labels: Labels): Labels {
  const { labels: values } = definitionOf(name)
  let shown = labels
  for (const label of Object.keys(labels)) {
    const list = values[label]
    if (Array.isArray(list) && !list.includes(labels[label])) shown = { ...shown, [label]: other }
  }
  return shown
}

/** Label sets of a metric that exist from the start; none while values of a label are unknown. */
function startsOf(name: MetricName, known: KnownLabels): Labels[] {
  const { labels, start = [{}] } = definitionOf(name)
  return start.flatMap(listed =>
    product(Object.entries(labels).map(([label, values]) => [label, listed[label] ?? valuesOf(values, known)])),
  )
}

function valuesOf(values: LabelValues, known: KnownLabels): readonly string[] {
  if (values === 'topic' || values === 'account' || values === 'tenant') return known[values]
  return typeof values === 'string' ? [] : values
}

function product(labels: [name: string, values: readonly string[]][]): Labels[] {
  return labels.reduce<Labels[]>(
    (sets, [name, values]) => sets.flatMap(set => values.map(value => ({ ...set, [name]: value }))),
    [{}],
  )
}
