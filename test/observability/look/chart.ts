import type { Span } from './api.ts'
import { colorOf, override, stepColor } from './colors.ts'
import { escaped, format } from './format.ts'
import type { Shown } from './frames.ts'

export interface Size {
  width: number
  height: number
}

interface Line {
  name: string
  color: string
  dashed: boolean
  /** Time and value; for stacked ones also what it stands on. */
  points: { time: number; value: number; base: number }[]
  last: number
}

const left = 72
const legendLine = 15

/** Lines, or stacked areas, with axes and a legend that gives the newest values. */
export function chart({ panel, frames }: Shown, span: Span, { width, height }: Size): string {
  const { unit, max: most, custom, thresholds } = panel.fieldConfig?.defaults ?? {}
  const stacked = custom?.stacking?.mode === 'normal'
  const lines = linesOf({ panel, frames }, stacked)
  const legend = legendOf(lines, unit, { width, height })
  const bottom = height - legend.height - 20
  const acting = custom?.thresholdsStyle ? (thresholds?.steps ?? []).flatMap(step => step.value ?? []) : []
  const highest = Math.max(...lines.flatMap(line => line.points.map(({ value, base }) => value + base)), 0)
  const top = most ?? niceTop(acting.some(step => highest > step / 4) ? Math.max(highest, ...acting) : highest)
  const x = (time: number) => left + ((time - span.from) / (span.to - span.from)) * (width - left - 8)
  const y = (value: number) => bottom - (Math.min(value, top) / top) * (bottom - 8)

  const grid = [0, 0.25, 0.5, 0.75, 1].map(part => {
    const at = y(part * top)
    return `<line x1="${left}" x2="${width - 8}" y1="${at}" y2="${at}" stroke="#2c3235"/><text x="${left - 6}" y="${at + 4}" text-anchor="end">${format(part * top, unit)}</text>`
  })
  const times = (width < 300 ? [0, 0.5] : [0, 0.25, 0.5, 0.75]).map(part => {
    const time = span.from + part * (span.to - span.from)
    const clock = new Date(time * 1000).toISOString().slice(11, 19)
    return `<text x="${x(time)}" y="${bottom + 15}">${clock}</text>`
  })
  const limits = acting
    .filter(step => step <= top)
    .map(
      step =>
        `<line x1="${left}" x2="${width - 8}" y1="${y(step)}" y2="${y(step)}" stroke="#d4343f" stroke-dasharray="6 4"/>`,
    )
  const drawn = lines.map(line => pathsOf(line, x, y, stacked)).reverse()
  return `<svg width="${width}" height="${height}">${[...grid, ...times, ...drawn, ...limits].join('')}${legend.svg}</svg>`
}

function linesOf({ panel, frames }: Shown, stacked: boolean): Line[] {
  const below = new Map<number, number>()
  return frames
    .flatMap(({ series }) => series)
    .map(({ name, points }, index) => {
      const line = {
        name,
        color: colorOf(panel, name, index),
        dashed: override(panel, name, 'custom.lineStyle') !== undefined,
        points: points
          .filter(([, value]) => Number.isFinite(value))
          .map(([time, value]) => {
            const base = stacked ? (below.get(time) ?? 0) : 0
            below.set(time, base + value)
            return { time, value, base }
          }),
        last: points.at(-1)?.[1] ?? Number.NaN,
      }
      return line
    })
}

/** Interrupted where values are missing. */
function pathsOf(line: Line, x: (time: number) => number, y: (value: number) => number, stacked: boolean): string {
  const step = Math.min(...line.points.slice(1).map((point, i) => point.time - line.points[i]!.time))
  const parts: Line['points'][] = []
  for (const point of line.points) {
    const part = parts.at(-1)
    if (part && point.time - part.at(-1)!.time <= step * 1.5) part.push(point)
    else parts.push([point])
  }
  return parts
    .map(part => {
      const above = part.map(({ time, value, base }) => `${x(time).toFixed(1)},${y(value + base).toFixed(1)}`)
      if (part.length === 1)
        return `<circle cx="${above[0]!.split(',')[0]}" cy="${above[0]!.split(',')[1]}" r="2" fill="${line.color}"/>`
      const under = part.toReversed().map(({ time, base }) => `${x(time).toFixed(1)},${y(base).toFixed(1)}`)
      const area = line.dashed
        ? ''
        : `<polygon points="${[...above, ...under].join(' ')}" fill="${line.color}" opacity="${stacked ? 0.45 : 0.08}"/>`
      const dashes = line.dashed ? ' stroke-dasharray="6 4"' : ''
      return `${area}<polyline points="${above.join(' ')}" fill="none" stroke="${line.color}" stroke-width="${stacked ? 1 : 1.8}"${dashes}/>`
    })
    .join('')
}

/** The legend takes as many lines at the bottom as the names need, four at most. */
function legendOf(lines: Line[], unit: string | undefined, { width, height }: Size): { svg: string; height: number } {
  let x = left
  let row = 0
  const placed = lines.map(({ name, color, last }) => {
    const text = `${name}  ${format(last, unit)}`
    const needed = text.length * 6.3 + 26
    if (x + needed > width && x > left) {
      x = left
      row++
    }
    const place = { x, row, text, color }
    x += needed
    return place
  })
  const rows = Math.min(row + 1, 4)
  const svg = placed
    .filter(one => one.row < rows)
    .map(({ x, row, text, color }) => {
      const y = height - 5 - (rows - 1 - row) * legendLine
      return `<g transform="translate(${x},${y})"><rect y="-5" width="12" height="3" fill="${color}"/><text x="17">${escaped(text)}</text></g>`
    })
  return { svg: svg.join(''), height: rows * legendLine + 4 }
}

function niceTop(highest: number): number {
  if (highest <= 0) return 1
  const size = 10 ** Math.floor(Math.log10(highest))
  return [1, 2, 4, 5, 8, 10].map(one => one * size).find(one => one >= highest) ?? highest
}

/** A row for each series, coloured by its value. */
export function timeline({ panel, frames }: Shown, span: Span, { width, height }: Size): string {
  const series = frames.flatMap(frame => frame.series)
  const rowHeight = Math.min(60, (height - 30) / Math.max(series.length, 1))
  const x = (time: number) => left + ((time - span.from) / (span.to - span.from)) * (width - left - 8)
  const texts = panel.fieldConfig?.defaults.mappings?.[0]?.options ?? {}
  const rows = series.map(({ name, points }, row) => {
    const step = (points[1]?.[0] ?? 0) - (points[0]?.[0] ?? 0)
    const cells = points.map(
      ([time, value]) =>
        `<rect x="${x(time)}" y="${row * rowHeight + 4}" width="${x(span.from + step) - left + 0.5}" height="${rowHeight - 8}" fill="${stepColor(panel, name, value)}"/>`,
    )
    return `<text x="${left - 6}" y="${row * rowHeight + rowHeight / 2 + 4}" text-anchor="end">${escaped(name)}</text>${cells.join('')}`
  })
  const key = Object.entries(texts).map(
    ([value, { text }], i) =>
      `<g transform="translate(${left + i * 90},${height - 12})"><rect y="-9" width="10" height="10" fill="${stepColor(panel, '', Number(value))}"/><text x="15">${text}</text></g>`,
  )
  return `<svg width="${width}" height="${height}">${rows.join('')}${key.join('')}</svg>`
}
