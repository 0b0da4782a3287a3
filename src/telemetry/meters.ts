import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { GaugeSource } from './definitions.ts'
import {
  type CounterName,
  definitionOf,
  type HistogramName,
  type LabelsOf,
  type MetricName,
  metricDefinitions,
  type ToldGaugeName,
} from './definitions.ts'
import { type LabelValues, other } from './labels.ts'

/** Values of open labels that the settings name: their series are there from the start. */
export interface KnownLabels {
  topic: readonly string[]
  account: readonly string[]
  tenant: readonly string[]
}

/** The metrics of the definitions, by name. */
export interface Meters {
  registry: Registry
  count<N extends CounterName>(name: N, labels: LabelsOf<N>, by?: number): void
  observe<N extends HistogramName>(name: N, labels: LabelsOf<N>, value: number): void
  set<N extends ToldGaugeName>(name: N, labels: LabelsOf<N>, value: number): void
  /** Ends a series. */
  remove<N extends ToldGaugeName>(name: N, labels: LabelsOf<N>): void
}

type Labels = Record<string, string>

/** @param sources asked at each scrape, anew: they may come and go */
export function createMeters(known: KnownLabels, sources: Iterable<GaugeSource>): Meters {
  const registry = new Registry()
  const counters = new Map<MetricName, Counter>()
  const histograms = new Map<MetricName, Histogram>()
  const gauges = new Map<MetricName, Gauge>()
  for (const name of Object.keys(metricDefinitions) as MetricName[]) {
    const { type, labels, meaning: help, buckets = [], asked } = definitionOf(name)
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
    } else if (asked) registerAsked(name, config, sources)
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

/**
 * Shows at each scrape the readings of all sources, those for the same labels added up; what no source names has ended.
 */
function registerAsked(
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

/** The labels, with `other` for a value that is not on its label's list. */
function listed(name: MetricName, labels: Labels): Labels {
  const { labels: values } = definitionOf(name)
  let shown = labels
  for (const label of Object.keys(labels)) {
    const list = values[label]
    if (Array.isArray(list) && !list.includes(labels[label])) shown = { ...shown, [label]: other }
  }
  return shown
}

/** The label sets that a metric has from the start; none while a label's values are not known. */
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
