import { readdirSync, readFileSync } from 'node:fs'
import type { Api, Series, Span } from './api.ts'

/** The used part of a dashboard's JSON. */
export interface Dashboard {
  uid: string
  title: string
  templating: { list: { name: string; type: string; query: string }[] }
  panels: Panel[]
}

export interface Panel {
  type: string
  title: string
  description: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: Target[]
  fieldConfig?: { defaults: { unit?: string } }
  links?: { title: string; url: string }[]
}

interface Target {
  refId: string
  expr: string
  legendFormat: string
}

export interface Frame {
  refId: string
  expr: string
  /** The series over the whole run, even if the panel shows only the latest value. */
  series: Series[]
}

export interface Shown {
  panel: Panel
  frames: Frame[]
}

const folder = new URL('../../../helm/dashboards/', import.meta.url)
const points = 120

export function readDashboards(): Dashboard[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .map(name => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Dashboard)
}

/** Runs all queries of a dashboard, as Grafana does with all variables set to "All". */
export async function look(dashboard: Dashboard, prometheus: Api, span: Span): Promise<Shown[]> {
  const step = Math.max(1, Math.round((span.to - span.from) / points))
  const shown: Shown[] = []
  for (const panel of dashboard.panels) {
    const frames: Frame[] = []
    for (const { refId, expr } of panel.targets ?? []) {
      const series = await prometheus.range(filledIn(expr, dashboard, step, span), span, step)
      frames.push({ refId, expr, series })
    }
    shown.push({ panel, frames })
  }
  return shown
}

function filledIn(expr: string, { templating }: Dashboard, step: number, span: Span): string {
  const values: Record<string, string> = {
    __rate_interval: `${Math.max(5, 4 * step)}s`,
    __range: `${Math.round(span.to - span.from)}s`,
    ...Object.fromEntries(templating.list.filter(({ type }) => type === 'query').map(({ name }) => [name, '.*'])),
  }
  return expr.replace(/\$(\w+)/g, (_, name: string) => {
    if (values[name] === undefined) throw new Error(`unknown variable $${name} in ${expr}`)
    return values[name]
  })
}

/** Tells whether a query returned no value or only zeros. */
export function nothingIn({ series }: Frame): 'no value' | 'only zeros' | null {
  const values = series.flatMap(({ points }) => points.map(([, value]) => value)).filter(value => !Number.isNaN(value))
  if (values.length === 0) return 'no value'
  return values.every(value => value === 0) ? 'only zeros' : null
}
