/** The metrics with stable names, and their labels. Users' dashboards and alerts depend on them. */
export const contract: Record<string, string[]> = {
  commands_consumed_total: ['topic'],
  commands_answered_before_total: ['topic'],
  results_published_total: ['type', 'outcome', 'error_code'],
  parts_total: ['account', 'type'],
  price_total: ['account', 'type'],
  country_refusals_total: ['account', 'country'],
  tenant_results_total: ['tenant', 'outcome'],
  tenant_parts_total: ['tenant'],
  verdicts_total: ['type', 'country', 'state'],
  envelopes_total: ['account', 'outcome'],
  envelope_operations: [],
  faults_total: ['handling'],
  gateway_request_duration_seconds: [],
  gateway_retries_total: ['reason'],
  commit_duration_seconds: [],
  rate_wait_seconds: [],
  rate_headroom_ratio: ['account'],
  rate_learnt_per_second: ['account'],
  requests_in_flight: [],
  intents_open: [],
  pauses: ['kind'],
  withdrawals: ['kind'],
  control_behind_seconds: [],
  control_used_ratio: [],
  breaker_state: ['account'],
  account_held_back_since_seconds: ['account'],
  oldest_unsent_command_age_seconds: ['topic'],
  consumer_lag_records: ['topic', 'partition'],
  window_used_ratio: ['topic', 'partition'],
  doubts_open: [],
  doubts_total: ['cause'],
  resolutions_total: ['outcome'],
  sessions_fenced_total: [],
  callbacks_total: ['type', 'state', 'verified'],
  callback_contradictions_total: ['type'],
  callback_rejections_total: ['reason'],
  callbacks_missing_total: ['type'],
  verdicts_found_total: ['type', 'state'],
  verdicts_forgotten_total: [],
  reconciler_delay_seconds: [],
  delivery_latency_seconds: ['type'],
  country_delivery_latency_seconds: ['country'],
  status_polls_total: ['result'],
  dead_letters_total: ['stage', 'code'],
  offsets_lost_total: [],
  records_shortened_total: [],
  hooks_without_correlation_total: [],
  account_key_refused: ['account'],
  account_balance: ['account', 'currency'],
  ready: ['role'],
  heap_limit_bytes: [],
  build_info: ['version', 'role'],
}

/** Samples by series, as `name{label="value"}`. */
export type Samples = ReadonlyMap<string, number>

/** Reads the text format of Prometheus. */
export function samplesOf(text: string): Samples {
  const lines = text.split('\n').filter(line => line && !line.startsWith('#'))
  return new Map(
    lines.map(line => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space))]
    }),
  )
}

/** The names of busgate's own series, without those of Node.js and the process. */
export function ownSeries(samples: Samples): string[] {
  return [...samples.keys()].filter(name => name.startsWith('busgate_')).sort()
}

/** The names of the metrics in the samples, with their labels. A histogram is one metric. */
export function metricsIn(samples: Samples): Record<string, string[]> {
  const metrics: Record<string, string[]> = {}
  for (const series of ownSeries(samples)) {
    const [name = '', labels = ''] = series.replace('busgate_', '').split(/[{}]/)
    const metric = name.replace(/_(bucket|sum|count)$/, '')
    metrics[metric] ??= [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label!).filter(label => label !== 'le')
  }
  return metrics
}

/** Reads /metrics. @param port of the telemetry server */
export async function scrape(port: number): Promise<Samples> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  return samplesOf(await response.text())
}
