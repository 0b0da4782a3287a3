import type { Span } from './api.ts'
import { chart, type Size, timeline } from './chart.ts'
import { stepColor } from './colors.ts'
import { escaped, format } from './format.ts'
import type { Dashboard, Panel, Shown } from './frames.ts'

const column = 64
const rowHeight = 36
const gap = 8
const titleHeight = 28

const style = `
  body { margin: 0; background: #111217; color: #ccccdc; font: 12px "DejaVu Sans", sans-serif; }
  h1 { position: absolute; left: 16px; top: 10px; margin: 0; font-size: 18px; font-weight: 500; }
  section { position: absolute; background: #181b1f; border: 1px solid #2c3235; border-radius: 2px; overflow: hidden; box-sizing: border-box; }
  section h3 { margin: 6px 10px; font-size: 13px; font-weight: 500; height: 16px; white-space: nowrap; overflow: hidden; }
  .row { position: absolute; font-size: 15px; font-weight: 500; }
  .stat { display: flex; position: absolute; inset: 28px 4px 4px; gap: 4px; }
  .stat > div { flex: 1; display: flex; flex-direction: column; align-items: center; justify-content: center; border-radius: 2px; color: #fff; }
  .stat b { font-size: 26px; } .stat span { opacity: .85; }
  table { border-collapse: collapse; margin: 0 10px; width: calc(100% - 20px); }
  td, th { text-align: left; padding: 3px 6px; border-bottom: 1px solid #2c3235; } th { color: #6e9fff; font-weight: 500; }
  .bar { display: flex; align-items: center; margin: 8px 12px; } .bar span { width: 150px; } .bar i { height: 26px; margin-right: 8px; }
  .none { text-align: center; color: #8e8e9c; margin-top: 30px; font-size: 15px; }
  svg { display: block; } svg text { fill: #9fa7b3; font-size: 11px; }
`

/** One dashboard as a page that needs nothing else, laid out as Grafana would. */
export function pageOf(dashboard: Dashboard, shown: Shown[], span: Span): { html: string; size: Size } {
  const bottom = Math.max(...shown.map(({ panel }) => panel.gridPos.y + panel.gridPos.h))
  const size = { width: 24 * column + 2 * gap, height: 44 + bottom * rowHeight + gap }
  const body = shown.map(one => (one.panel.type === 'row' ? rowOf(one.panel) : panelOf(one, span)))
  const html = `<!doctype html><meta charset="utf-8"><title>${escaped(dashboard.title)}</title><style>${style}</style><h1>${escaped(dashboard.title)}</h1>${body.join('\n')}`
  return { html, size }
}

function boxOf({ gridPos: { x, y, w, h } }: Panel): Size & { css: string } {
  const width = w * column - gap
  const height = h * rowHeight - gap
  return {
    width,
    height,
    css: `left:${x * column + gap}px;top:${44 + y * rowHeight}px;width:${width}px;height:${height}px`,
  }
}

function rowOf(panel: Panel): string {
  return `<div class="row" style="${boxOf(panel).css}">${escaped(panel.title)}</div>`
}

function panelOf(shown: Shown, span: Span): string {
  const { css, width, height } = boxOf(shown.panel)
  const title = `<h3 title="${escaped(shown.panel.description)}">${escaped(shown.panel.title)}</h3>`
  const inside = { width: width - 2, height: height - titleHeight - 4 }
  const drawn = shown.frames.some(({ series }) => series.length > 0)
    ? drawing(shown, span, inside)
    : nothing(shown.panel)
  return `<section style="${css}">${title}${drawn}</section>`
}

const nothing = ({ fieldConfig }: Panel): string =>
  `<div class="none">${escaped(fieldConfig?.defaults.noValue ?? 'No data')}</div>`

function drawing(shown: Shown, span: Span, size: Size): string {
  switch (shown.panel.type) {
    case 'timeseries':
      return chart(shown, span, size)
    case 'state-timeline':
      return timeline(shown, span, size)
    case 'stat':
      return stat(shown)
    case 'bargauge':
      return bars(shown, size)
    case 'table':
      return table(shown)
    default:
      throw new Error(`nothing draws a panel of the kind ${shown.panel.type}`)
  }
}

function stat({ panel, frames }: Shown): string {
  const { unit, mappings } = panel.fieldConfig?.defaults ?? {}
  const series = frames.flatMap(frame => frame.series)
  const cells = series.map(({ name, points }) => {
    const value = points.findLast(([, value]) => !Number.isNaN(value))?.[1] ?? Number.NaN
    const text = mappings?.[0]?.options[String(value)]?.text ?? format(value, unit)
    const label = series.length > 1 ? `<span>${escaped(name)}</span>` : ''
    return `<div style="background:${stepColor(panel, name, value)}">${label}<b>${escaped(text)}</b></div>`
  })
  return `<div class="stat">${cells.join('')}</div>`
}

function bars({ panel, frames }: Shown, { width }: Size): string {
  const values = frames.flatMap(({ series }) => series).map(({ name, points }) => ({ name, value: points[0]![1] }))
  const most = Math.max(...values.map(({ value }) => value))
  return values
    .map(({ name, value }) => {
      const length = Math.max(1, (value / most) * (width - 260))
      return `<div class="bar"><span>${escaped(name)}</span><i style="width:${length}px;background:${stepColor(panel, name, value)}"></i>${format(value, panel.fieldConfig?.defaults.unit)}</div>`
    })
    .join('')
}

function table(shown: Shown): string {
  const transformed = (id: string) => shown.panel.transformations?.find(one => one.id === id)?.options
  const renamed = (transformed('organize')?.renameByName ?? {}) as Record<string, string>
  const by = transformed('joinByField')?.byField as string | undefined
  const [headings, rows] = by ? joined(shown, by, renamed) : labelled(shown, renamed)
  const cells = (tag: string, texts: string[]) =>
    `<tr>${texts.map(text => `<${tag}>${escaped(text)}</${tag}>`).join('')}</tr>`
  return `<table>${cells('th', headings)}${rows.map(row => cells('td', row)).join('')}</table>`
}

/** A row for each value of the label that all queries have, a column for each query. */
function joined({ panel, frames }: Shown, by: string, renamed: Record<string, string>): [string[], string[][]] {
  const keys = [...new Set(frames.flatMap(({ series }) => series.map(({ labels }) => labels[by] ?? '')))].sort()
  const unitOf = (heading: string) =>
    panel.fieldConfig?.overrides.find(({ matcher }) => matcher.options === heading)?.properties[0]?.value as string
  const columns = frames.map(frame => {
    const heading = renamed[`Value #${frame.refId}`]!
    const unit = unitOf(heading) ?? panel.fieldConfig?.defaults.unit
    return {
      heading,
      text: (key: string) => {
        const value = frame.series.find(({ labels }) => labels[by] === key)?.points[0]?.[1]
        return value === undefined ? '' : format(value, unit)
      },
    }
  })
  return [
    [by, ...columns.map(({ heading }) => heading)],
    keys.map(key => [key, ...columns.map(({ text }) => text(key))]),
  ]
}

/** A row for each series, a column for each of its labels that is named. */
function labelled({ panel, frames }: Shown, renamed: Record<string, string>): [string[], string[][]] {
  const rows = frames.flatMap(({ series }) =>
    series.map(({ labels }) => Object.keys(renamed).map(name => labels[name] ?? '')),
  )
  const sortBy = Object.values(renamed).indexOf(panel.options?.sortBy?.[0]?.displayName ?? '')
  return [Object.values(renamed), rows.sort((a, b) => (a[sortBy] ?? '').localeCompare(b[sortBy] ?? ''))]
}
