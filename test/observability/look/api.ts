/** Seconds since 1970. */
export interface Span {
  from: number
  to: number
}

export interface Series {
  labels: Record<string, string>
  /** Seconds since 1970, value. */
  points: (readonly [time: number, value: number])[]
}

export interface Alert {
  labels: Record<string, string>
  annotations: Record<string, string>
}

/** Queries a Prometheus; each call rejects with its error. */
export interface Api {
  range(query: string, span: Span, step: number): Promise<Series[]>
  instant(query: string, time: number): Promise<Series[]>
  /** The names of alerts that have fired. */
  fired(span: Span): Promise<string[]>
  /** The alerts that are firing or pending. */
  alerts(): Promise<Alert[]>
  /** The current errors of targets and rules. */
  complaints(): Promise<string[]>
}

type Labels = Record<string, string>

export function apiOf(url: string): Api {
  async function get<T>(path: string, parameters: Record<string, string | number> = {}): Promise<T> {
    const query = new URLSearchParams(
      Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const response = await fetch(`${url}/api/v1/${path}?${query}`)
    const body = (await response.json()) as { status: string; error?: string; data: T }
    if (body.status !== 'success') throw new Error(`${body.error} in ${parameters.query ?? path}`)
    return body.data
  }

  async function instant(query: string, time: number): Promise<Series[]> {
    const { result } = await get<{ result: { metric: Labels; value: [number, string] }[] }>('query', { query, time })
    return result.map(({ metric, value }) => ({ labels: metric, points: [[value[0], Number(value[1])] as const] }))
  }

  return {
    instant,
    async range(query, { from, to }, step) {
      const { result } = await get<{ result: { metric: Labels; values: [number, string][] }[] }>('query_range', {
        query,
        start: from,
        end: to,
        step,
      })
      return result.map(({ metric, values }) => ({
        labels: metric,
        points: values.map(([time, value]) => [time, Number(value)] as const),
      }))
    },
    async fired({ from, to }) {
      const series = await instant(`last_over_time(ALERTS{alertstate="firing"}[${Math.ceil(to - from)}s])`, to)
      return [...new Set(series.map(({ labels }) => labels.alertname!))].sort()
    },
    alerts: async () => (await get<{ alerts: Alert[] }>('alerts')).alerts,
    async complaints() {
      const { activeTargets } = await get<{ activeTargets: { scrapeUrl: string; lastError: string }[] }>('targets')
      const { groups } = await get<{ groups: { rules: { name: string; lastError?: string }[] }[] }>('rules')
      const rules = groups.flatMap(group => group.rules)
      return [
        ...activeTargets.flatMap(({ scrapeUrl, lastError }) => (lastError ? [`${scrapeUrl}: ${lastError}`] : [])),
        ...rules.flatMap(({ name, lastError }) => (lastError ? [`${name}: ${lastError}`] : [])),
      ]
    },
  }
}
