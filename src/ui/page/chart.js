import { html, svg } from '/lit-html.js'
import { clockTime, perSecond } from './format.js'

/** @import { History } from '../now.ts' */
/** @typedef {{ name: string, label: string, kind: string }} Line */
/** @typedef {(number | null)[]} Points */
/** @typedef {(value: number) => number} Scale */

const height = 168
const margin = { top: 10, right: 8, bottom: 20, left: 44 }

/**
 * Lines over the last ten minutes, drawn for a width in pixels.
 * @param {{ history: History, lines: Line[], at: number, width: number }} chart
 */
export function chart({ history, lines, at, width }) {
  const { series, stepMs, room: length } = history
  const shown = lines.map(line => ({ ...line, values: series[line.name] ?? [] }))
  const top = niceTop(Math.max(1, ...shown.flatMap(({ values }) => values.map(Number))))
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
  const x = (/** @type {number} */ i) => margin.left + (i / (length - 1)) * inner.width
  const y = (/** @type {number} */ value) => margin.top + (1 - value / top) * inner.height
  const label = shown.map(({ label, values }) => `${label} ${spoken(values)}`).join(', ')
  return html`
    <svg class="chart" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img"
      aria-label="A second, now: ${label}">
      ${[0, top / 2, top].map(
        value => svg`
          <line class="grid" x1=${margin.left} x2=${width - margin.right} y1=${y(value)} y2=${y(value)} />
          <text class="tick" x=${margin.left - 6} y=${y(value) + 4} text-anchor="end">${perSecond(value)}</text>`,
      )}
      ${[0, 0.5, 1].map(
        share => svg`
          <text class="tick" x=${margin.left + share * inner.width} y=${height - 4}
            text-anchor=${share === 0 ? 'start' : share === 1 ? 'end' : 'middle'}>
            ${clockTime(at - (1 - share) * (length - 1) * stepMs)}</text>`,
      )}
      ${shown.map(
        ({ kind, values }) =>
          svg`<path class="line ${kind}" d=${pathOf(values, i => x(i + length - values.length), y)} />`,
      )}
    </svg>
    <p class="legend">
      ${shown.map(({ kind, label, values }) => html`<span class="key ${kind}"><i></i>${label} <b>${perSecond(values.at(-1) ?? null)}</b></span>`)}
      <span class="muted">a second, over 10 s, now</span>
    </p>`
}

/** @param {Points} values */
const spoken = values => (values.at(-1) == null ? 'not known' : perSecond(values.at(-1) ?? null))

/** What is not known is a gap. @type {(values: Points, x: Scale, y: Scale) => string} */
const pathOf = (values, x, y) =>
  values
    .map((value, i) => {
      if (value === null) return ''
      const isFirst = i === 0 || values[i - 1] === null
      return `${isFirst ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`
    })
    .join('')

/** The next of 1, 2, 4, 6, 8, 10, 20, … @param {number} most */
function niceTop(most) {
  const power = 10 ** Math.floor(Math.log10(most))
  const step = [1, 2, 4, 6, 8, 10].find(step => step * power >= most) ?? 10
  return step * power
}
