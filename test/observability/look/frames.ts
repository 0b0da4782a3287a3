import { readdirSync, readFileSync } from 'node:fs'
import type { Api, Series, Span } from './api.ts'

/** What is used here of a dashboard's JSON. */
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
  options?: { sortBy?: { displayName: string }[] }
  transformations?: { id: string; options: Record<string, unknown> }[]
  fieldConfig?: {
    defaults: {
      unit?: string
      max?: number
      noValue?: string
      thresholds?: { steps: Step[] }
      mappings?: { options: Record<string, { text: string }> }[]
      custom?: { stacking?: { mode: string }; thresholdsStyle?: { mode: string } }
    }
    overrides: { matcher: { id: string; options: string }; properties: { id: string; value: unknown }[] }[]
  }
  links?: { title: string; url: string }[]
}

export interface Step {
  value: number | null
  color: string
}

interface Target {
  refId: string
  expr: string
  legendFormat: string
  instant?: boolean
}

export interface Frame {
  refId: string
  expr: string
  /** The series are as the panel asks for them, with the names that the legend gives. */
  series: (Series & { name: string })[]
  /** Its series over the whole time, also of a panel that shows only what is now. */
  ever: Series[]
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

/** Asks everything that a dashboard asks, as Grafana would with all variables on "All". */
export async function look(dashboard: Dashboard, prometheus: Api, span: Span): Promise<Shown[]> {
  const step = Math.max(1, Math.round((span.to - span.from) / points))
  const shown: Shown[] = []
  for (const panel of dashboard.panels) {
    const frames: Frame[] = []
    for (const { refId, expr, legendFormat, instant } of panel.targets ?? []) {
      const expression = filledIn(expr, dashboard, step, span)
      const ever = await prometheus.range(expression, span, step)
      const asked = instant ? await prometheus.instant(expression, span.to) : ever
      const series = asked.map(one => ({ ...one, name: legendOf(legendFormat, one.labels) }))
      frames.push({ refId, expr, series, ever })
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
    if (values[name] === undefined) throw new Error(`nothing is known of $${name} in ${expr}`)
    return values[name]
  })
}

function legendOf(format: string, labels: Record<string, string>): string {
  return format.replace(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? '').trim()
}

/** Whether a query's answer has nothing to see: no value, or zeros alone. */
export function nothingIn({ ever }: Frame): 'no value' | 'only zeros' | null {
  const values = ever.flatMap(({ points }) => points.map(([, value]) => value)).filter(value => !Number.isNaN(value))
  if (values.length === 0) return 'no value'
  return values.every(value => value === 0) ? 'only zeros' : null
}
