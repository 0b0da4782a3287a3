import { Gauge, type Registry } from 'prom-client'

/** Values that are asked for when somebody looks, rather than told. */
const gauges = {
  oldest_unsent_command_age_seconds: { labels: ['topic'], help: 'Age of the oldest command that was not sent yet.' },
  consumer_lag_records: { labels: ['topic', 'partition'], help: 'Records between the checkpoint and the end offset.' },
  window_used_ratio: {
    labels: ['topic', 'partition'],
    help: 'Used part of the window of offsets above the checkpoint.',
  },
  requests_in_flight: { labels: [], help: 'Requests to the gateway that are not answered yet.' },
  rate_headroom_ratio: { labels: ['account'], help: "Unused part of the account's rate: 0 is at the limit." },
  breaker_state: { labels: ['account'], help: '0: closed, sending. 1: half open, probing. 2: open, paused.' },
  doubts_open: { labels: [], help: 'Commands in doubt on the partitions owned.' },
} satisfies Record<string, { labels: readonly string[]; help: string }>

export type GaugeName = keyof typeof gauges

/** A room's answer to "how is it now?". `labels` are those of the metric, no more and no less. */
export interface GaugeSource {
  read(): Iterable<{ name: GaugeName; labels: Record<string, string>; value: number }>
}

/**
 * Reads the sources at each scrape and forgets the scrape before, so that the series of a lost partition end.
 * Values of several sources for the same labels are added up.
 */
export function registerGauges(registry: Registry, sources: Iterable<GaugeSource>): void {
  for (const [name, { labels, help }] of Object.entries(gauges)) {
    const gauge: Gauge = new Gauge({
      name: `busgate_${name}`,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        gauge.reset()
        for (const source of sources) {
          for (const reading of source.read()) if (reading.name === name) gauge.inc(reading.labels, reading.value)
        }
      },
    })
  }
}
