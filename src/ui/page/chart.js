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
  const top = niceTop(Math.max(1, ...shown.flatMap(({ values }) => values.map(Number))))
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
  const x = (/** @type {number} */ i) => margin.left + (i / (length - 1)) * inner.width
  const y = (/** @type {number} */ value) => margin.top + (1 - value / top) * inner.height
  const timeOf = (/** @type {number} */ i) => at - (length - 1 - i) * stepMs
  const valueAt = (/** @type {Points} */ values, /** @type {number} */ i) => values[i - length + values.length] ?? null
  const pointAt = (/** @type {PointerEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect()
    const share = (event.clientX - box.left - margin.left) / inner.width
    onHover(Math.round(Math.min(1, Math.max(0, share)) * (length - 1)))
  }
  const label = shown.map(({ label, values }) => `${label} ${spoken(values.at(-1) ?? null)}`).join(', ')
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
            ${shown.map(({ kind, values }) => dot(kind, x(hovered), valueAt(values, hovered), y))}`
      }
    </svg>
    <p class="legend">
      ${shown.map(
        ({ kind, label, values }) => html`
          <span class="key ${kind}"><i></i>${label} <b>${perSecond(valueAt(values, hovered ?? length - 1))}</b></span>`,
      )}
      <span class="muted">a second, over 10 s, ${hovered === null ? 'now' : `at ${clockTime(timeOf(hovered))}`}</span>
    </p>`
}

/** @typedef {(value: number) => number} Scale */

/** @typedef {(number | null)[]} Points */

/** @param {number | null} value */
const spoken = value => (value === null ? 'not known' : perSecond(value))

/** @type {(kind: string, x: number, value: number | null, y: Scale) => unknown} */
const dot = (kind, x, value, y) =>
  value === null ? null : svg`<circle class="dot ${kind}" cx=${x} cy=${y(value)} r="3" />`

/** The places of the points, in pieces: what is not known is a gap. @type {(values: Points, x: Scale, y: Scale) => string[][]} */
const piecesOf = (values, x, y) => {
  /** @type {string[][]} */
  const pieces = [[]]
  for (const [i, value] of values.entries()) {
    if (value === null) pieces.push([])
    else pieces.at(-1)?.push(`${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
  }
  return pieces.filter(piece => piece.length > 0)
}

/** @type {(values: Points, x: Scale, y: Scale) => string} */
const pathOf = (values, x, y) =>
  piecesOf(values, x, y)
    .map(piece => `M${piece.join('L')}`)
    .join('')

/** @type {(values: Points, x: Scale, y: Scale) => string} */
const areaOf = (values, x, y) => {
  const foot = (/** @type {string | undefined} */ place) => `${place?.split(' ')[0]} ${y(0)}`
  return piecesOf(values, x, y)
    .map(piece => `M${foot(piece[0])}L${piece.join('L')}L${foot(piece.at(-1))}Z`)
    .join('')
}

/** The next of 1, 2, 4, 6, 8, 10, 20, … @param {number} most */
function niceTop(most) {
  const power = 10 ** Math.floor(Math.log10(most))
  const step = [1, 2, 4, 6, 8, 10].find(step => step * power >= most) ?? 10
  return step * power
}
