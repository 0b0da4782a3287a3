import { html, svg } from '/lit-html.js'
import { clockTime, perSecond } from './format.js'

/** @import { History } from '../now.ts' */
/** @typedef {{ name: string, label: string, kind: string }} Line */

const height = 168
const margin = { top: 10, right: 8, bottom: 20, left: 44 }

/**
 * Lines over the last ten minutes, drawn for a width in pixels.
 * @param {{ history: History, lines: Line[], at: number, width: number, hovered: number | null, onHover: (point: number | null) => void }} chart
 */
export function chart({ history, lines, at, width, hovered, onHover }) {
  const { series, stepMs, room: length } = history
  const shown = lines.map(line => ({ ...line, values: series[line.name] ?? [] }))
  const top = niceTop(Math.max(1, ...shown.flatMap(({ values }) => values)))
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
  const x = (/** @type {number} */ i) => margin.left + (i / (length - 1)) * inner.width
  const y = (/** @type {number} */ value) => margin.top + (1 - value / top) * inner.height
  const timeOf = (/** @type {number} */ i) => at - (length - 1 - i) * stepMs
  const valueAt = (/** @type {number[]} */ values, /** @type {number} */ i) => values[i - length + values.length] ?? 0
  const pointAt = (/** @type {PointerEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect()
    const share = (event.clientX - box.left - margin.left) / inner.width
    onHover(Math.round(Math.min(1, Math.max(0, share)) * (length - 1)))
  }
  const label = shown.map(({ label, values }) => `${label} ${perSecond(values.at(-1) ?? 0)}`).join(', ')
  return html`
    <svg class="chart" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img"
      aria-label="A second, now: ${label}" @pointermove=${pointAt} @pointerleave=${() => onHover(null)}>
      ${[0, top / 2, top].map(
        value => svg`
          <line class="grid" x1=${margin.left} x2=${width - margin.right} y1=${y(value)} y2=${y(value)} />
          <text class="tick" x=${margin.left - 6} y=${y(value) + 4} text-anchor="end">${perSecond(value)}</text>`,
      )}
      ${[0, 0.5, 1].map(
        share => svg`
          <text class="tick" x=${margin.left + share * inner.width} y=${height - 4}
            text-anchor=${share === 0 ? 'start' : share === 1 ? 'end' : 'middle'}>
            ${clockTime(timeOf(share * (length - 1)))}</text>`,
      )}
      ${shown.map(
        ({ kind, values }) => svg`
          <path class="area ${kind}" d=${areaOf(values, i => x(i + length - values.length), y)} />
          <path class="line ${kind}" d=${pathOf(values, i => x(i + length - values.length), y)} />`,
      )}
      ${
        hovered === null
          ? null
          : svg`
            <line class="cursor" x1=${x(hovered)} x2=${x(hovered)} y1=${margin.top} y2=${height - margin.bottom} />
            ${shown.map(({ kind, values }) => svg`<circle class="dot ${kind}" cx=${x(hovered)} cy=${y(valueAt(values, hovered))} r="3" />`)}`
      }
    </svg>
    <p class="legend">
      ${shown.map(
        ({ kind, label, values }) => html`
          <span class="key ${kind}"><i></i>${label} <b>${perSecond(valueAt(values, hovered ?? length - 1))}</b></span>`,
      )}
      <span class="muted">${hovered === null ? 'a second, now' : `a second, at ${clockTime(timeOf(hovered))}`}</span>
    </p>`
}

/** @typedef {(value: number) => number} Scale */

/** @type {(values: number[], x: Scale, y: Scale) => string} */
const pathOf = (values, x, y) =>
  values.map((value, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('')

/** @type {(values: number[], x: Scale, y: Scale) => string} */
const areaOf = (values, x, y) =>
  values.length < 2
    ? ''
    : `${pathOf(values, x, y)}L${x(values.length - 1).toFixed(1)} ${y(0)}L${x(0).toFixed(1)} ${y(0)}Z`

/** The next of 1, 2, 4, 6, 8, 10, 20, … @param {number} most */
function niceTop(most) {
  const power = 10 ** Math.floor(Math.log10(most))
  const step = [1, 2, 4, 6, 8, 10].find(step => step * power >= most) ?? 10
  return step * power
}
