import { html, nothing, svg } from '/lit-html.js'
import { clockTime, copyable, count, dateTime, linkTo, percent, perSecond, span, visible, withTimes } from './format.js'
import { toneOf } from './tones.js'

/** @import { FunnelRow, History, Now, PartitionNow } from '../now.ts' */

/** The panels of the current state. @param {Now} now @param {History} history @param {number} width of the chart, in pixels */
export function nowPanels(now, history, width) {
  const since = `since ${clockTime(now.since)}`
  return html`
    ${heldBack(now)}
    ${controls(now)}
    <div class="panels">
      ${panel('Commands per second', 'from the topics', traffic(now, history, width), 'wide')}
      ${panel('From command to verdict', since, funnel(now), 'wide')}
      ${panel('Failures by reason', since, failures(now))}
      ${panel('Latest messages', 'click for the story', latest(now))}
      ${panel('Open doubts', 'from the topic of doubts', doubts(now))}
      ${panel('Lag and window', "from the group's progress", partitions(now))}
      ${panel('Processes', 'from their reports', processes(now))}
      ${panel('Dead letters by cause', 'from their topic', deadLetters(now), 'wide')}
    </div>
    ${now.commandFlags === null ? html`<p class="note">The bus of this demo is inside its process: the commands above work on brokers, not here.</p>` : nothing}
    ${now.undecodable.map(text => html`<p class="note">${withTimes(text)}</p>`)}`
}

/** @param {string} title @param {string} source @param {unknown} content @param {string} [kind] */
function panel(title, source, content, kind = '') {
  return html`
    <section class="panel ${kind}" aria-label=${title}>
      <header><h2>${title}</h2><span class="source">${source}</span></header>
      ${content}
    </section>`
}

/** @param {string} text */
const empty = text => html`<p class="empty">${text}</p>`

const notKnown = empty('Unknown.')

/** A note if the counts are incomplete. @param {Now} now */
const incompleteNote = ({ counting }) =>
  counting ? nothing : html`<p class="note">Incomplete: the current state is unknown.</p>`

/** What holds commands back, before everything else. @param {Now} now */
function heldBack({ holds, otherHolds }) {
  if (holds === null || holds.length === 0) return nothing
  return html`
    <section class="notice bad" aria-label="Held back">
      <h2>Held back</h2>
      <ul>
        ${holds.map(({ text, mend }) => html`<li>${withTimes(text)} ${withTimes(mend)}</li>`)}
        ${otherHolds > 0 ? html`<li>And ${count(otherHolds)} more: ${copyable('busgate status')}</li>` : nothing}
      </ul>
    </section>`
}

/** Pauses and withdrawals, above the panels. @param {Now} now */
function controls({ pauses, withdrawals }) {
  return [notice('Paused', pauses), notice('Withdrawn', withdrawals)]
}

/** @param {string} title @param {Now['pauses']} controls */
function notice(title, controls) {
  if (controls.length === 0) return nothing
  return html`
    <section class="notice warn" aria-label=${title}>
      <h2>${title}</h2>
      <ul>${controls.map(({ what, why }) => html`<li><b>${visible(what)}</b> ${withTimes(why)}</li>`)}</ul>
    </section>`
}

/** @param {Now} now @param {History} history @param {number} width */
function traffic({ lanes, at }, history, width) {
  const kinds = ['first', 'second', 'third', 'fourth']
  const lines = lanes.map(({ topic }, i) => ({ name: topic, kind: kinds[i % kinds.length] ?? '' }))
  lines.push({ name: 'results', kind: 'results' })
  return html`<div id="chart">${chart({ history, lines, at, width })}</div>`
}

/** @param {Now} now */
function funnel(now) {
  const { funnel, lanes, counting } = now
  const commands = lanes.reduce((sum, lane) => sum + lane.commands, 0)
  if (funnel.length === 0 && commands === 0) return counting ? empty('No traffic yet.') : notKnown
  return html`${funnelTable(funnel, commands)}${incompleteNote(now)}`
}

/** @param {FunnelRow[]} rows @param {number} commands */
function funnelTable(rows, commands) {
  const row = (/** @type {FunnelRow} */ { type, commands, delivered, notDelivered, ...results }) => html`
    <tr>
      <th scope="row">${visible(type)}</th><td data-label="commands">${count(commands)}</td>${resultCells(results)}
      <td class="good" data-label="delivered">${zero(delivered)}</td><td class="bad" data-label="not delivered">${zero(notDelivered)}</td>
    </tr>`
  return html`
    <div class="scroll"><table class="funnel">
      <thead>
        <tr class="groups">
          <td></td><td></td><th scope="colgroup" colspan="4"><span>results</span></th><th scope="colgroup" colspan="2"><span>verdicts</span></th>
        </tr>
        <tr>
          <th scope="col">type</th><th scope="col">com&shy;mands</th>${resultHeads}
          <th scope="col">deliv&shy;ered</th><th scope="col">not deliv&shy;ered</th>
        </tr>
      </thead>
      <tbody>${rows.map(row)}</tbody>
      <tfoot>${row({ ...sumOf(rows), type: 'all', commands })}</tfoot>
    </table></div>`
}

const resultHeads = html`<th scope="col">sent</th><th scope="col">not sent</th><th scope="col">was in doubt</th><th scope="col">unre&shy;solved</th>`

/** @param {Pick<FunnelRow, 'sent' | 'notSent' | 'inDoubt' | 'unresolved'>} row */
const resultCells = ({ sent, notSent, inDoubt, unresolved }) =>
  html`
    <td data-label="sent">${zero(sent)}</td><td class="bad" data-label="not sent">${zero(notSent)}</td>
    <td class="doubt" data-label="was in doubt">${zero(inDoubt)}</td><td class="bad" data-label="unresolved">${zero(unresolved)}</td>`

/** @param {number} number */
const zero = number => (number === 0 ? html`<span class="zero">0</span>` : count(number))

/** @param {FunnelRow[]} rows */
function sumOf(rows) {
  const sum = { sent: 0, notSent: 0, inDoubt: 0, unresolved: 0, delivered: 0, notDelivered: 0 }
  const columns = /** @type {(keyof typeof sum)[]} */ (Object.keys(sum))
  for (const row of rows) for (const column of columns) sum[column] += row[column]
  return sum
}

/** @param {number} share @param {string} kind */
const gauge = (share, kind) => html`
  <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="8" />${svg`<rect class=${kind} width=${Math.min(1, share) * 100} height="8" />`}
  </svg>`

/** @param {Now} now */
function failures(now) {
  const { failures, otherFailures, counting } = now
  const held = (now.holds ?? []).filter(({ account }) => account !== null)
  if (failures.length + held.length === 0) return counting && now.holds ? empty('No failures.') : notKnown
  const most = Math.max(...failures.map(({ count }) => count))
  return html`
    <ul class="bars">
      ${held.map(
        ({ account, waiting, text }) => html`
          <li>
            <div>
              <b>HELD BACK</b> <span class="muted">account ${visible(account ?? '')}</span>
              <span class="number">${count(waiting)}</span>
            </div>
            <p class="note">${withTimes(text)}</p>
          </li>`,
      )}
      ${failures.map(
        ({ outcome, errorCode, count: number, remedy, examples }) => html`
          <li>
            <div>
              <b>${visible(errorCode || outcome)}</b> <span class="muted">${outcome.toLowerCase()}</span>
              <span class="number">${count(number)}</span>
            </div>
            ${gauge(number / most, 'bad')}
            ${remedy ? html`<p class="note">${remedy}.</p>` : nothing}
            <p class="note">Examples: ${copyable(examples)}</p>
          </li>`,
      )}
    </ul>
    ${otherFailures > 0 ? html`<p class="note">${count(otherFailures)} more for other reasons.</p>` : nothing}
    ${incompleteNote(now)}`
}

/** @param {Now} now */
function latest({ latest }) {
  if (latest.length === 0) return empty('None yet.')
  return html`
    <ul class="latest">
      ${latest.map(
        ({ id, account, type, state, time }) => html`
          <li><a href=${linkTo({ by: 'id', text: id, account })}>
            <b>${id}</b><span class="muted">${visible(type)}${account === 'default' ? nothing : ` ${visible(account)}`}</span>
            <span class=${toneOf(state ?? '')}>${(state ?? 'waiting').toLowerCase().replace('_', ' ')}</span><time class="muted">${clockTime(time)}</time>
          </a></li>`,
      )}
    </ul>`
}

/** @param {Now} now */
function processes({ processes, holds }) {
  if (processes.length === 0) return holds === null ? notKnown : empty('None has reported.')
  return html`
    <div class="scroll"><table>
      <thead><tr><th scope="col" class="text">process</th><th scope="col" class="text">roles</th><th scope="col">version</th><th scope="col">partitions</th></tr></thead>
      <tbody>
        ${processes.map(
          ({ name, roles, version, partitions, silentSince }) => html`
            <tr>
              <th scope="row" class="text">${visible(name)}${silentSince === null ? nothing : html` <span class="bad">silent since ${clockTime(silentSince)}</span>`}</th>
              <td class="text">${visible(roles.join(', '))}</td><td>${visible(version)}</td><td>${count(partitions)}</td>
            </tr>`,
        )}
      </tbody>
    </table></div>`
}

/** @param {Now} now */
function doubts({ doubts, at }) {
  if (doubts.open === null) return notKnown
  if (doubts.open === 0) return empty('No doubts.')
  return html`
    <p class="big"><b>${count(doubts.open)}</b> perhaps sent</p>
    <div class="scroll"><table>
      <thead><tr><th scope="col">id</th><th scope="col" class="text">cause</th><th scope="col">since</th><th scope="col" class="text">waits for</th></tr></thead>
      <tbody>
        ${doubts.oldest.map(
          ({ id, cause, attempts, postedAt, waitsFor, account }) => html`
            <tr>
              <th scope="row"><a href=${linkTo({ by: 'id', text: id, account })}>${visible(id)}</a></th>
              <td class="text">${cause}${attempts > 1 ? html` <span class="muted">${attempts} attempts</span>` : nothing}</td>
              <td title=${dateTime(postedAt)}>${span(postedAt === null ? Number.NaN : at - postedAt)}</td>
              <td class="text">${waitsFor}</td>
            </tr>`,
        )}
      </tbody>
    </table></div>
    ${doubts.open > doubts.oldest.length ? html`<p class="note">Only the oldest are shown.</p>` : nothing}`
}

/** @param {Now} now */
function partitions({ partitions }) {
  if (partitions.length === 0) return notKnown
  const topics = [...Map.groupBy(partitions, ({ topic }) => topic)].sort(([a], [b]) => a.localeCompare(b))
  return html`${topics.map(([topic, own]) => topicLag(topic, own))}`
}

/** @param {string} topic @param {PartitionNow[]} own */
function topicLag(topic, own) {
  const lag = own.reduce((sum, one) => sum + (one.lag ?? 0), 0)
  const unread = own.filter(one => one.lag === null).length
  const behind = unread === own.length ? 'not begun' : `${count(lag)} behind`
  const fullest = Math.max(...own.map(({ window }) => window))
  return html`
    <details class="topic">
      <summary>
        <b>${topic}</b><span class="number">${behind}</span>
        <span class="muted">${own.length} partitions, fullest window ${percent(fullest)}${unread > 0 ? `, ${unread} not begun` : ''}</span>
        ${gauge(fullest, fullest > 0.8 ? 'bad' : 'used')}
      </summary>
      <table>
        <thead><tr><th scope="col">partition</th><th scope="col">lag</th><th scope="col">window</th></tr></thead>
        <tbody>
          ${own
            .toSorted((a, b) => a.partition - b.partition)
            .map(
              ({ partition, lag, window }) => html`
                <tr>
                  <th scope="row">${partition}</th><td>${lag === null ? 'not begun' : count(lag)}</td><td>${percent(window)}</td>
                </tr>`,
            )}
        </tbody>
      </table>
    </details>`
}

/** @param {Now} now */
function deadLetters({ deadLetters: { known, complete, total, causes, others } }) {
  if (total === 0) return known ? empty('No dead letters.') : notKnown
  return html`
    <ul class="causes">
      ${causes.map(
        ({ code, topic, count: number, newest, at, message, replay }) => html`
          <li>
            <div>
              <b>${visible(code || 'without a code')}</b> <span class="muted">${topic === null ? 'callbacks' : `from ${visible(topic)}`}</span>
              <span class="number">${count(number)}</span>
            </div>
            <p>${visible(message)} <span class="muted">Newest ${dateTime(newest)}, ${at}.</span></p>
            ${
              replay
                ? html`<p class="note">What a replay would do: ${copyable(replay)}</p>`
                : topic === null
                  ? nothing
                  : html`<p class="note">These bytes cannot become a command: their producer must resend them.</p>`
            }
          </li>`,
      )}
    </ul>
    ${others > 0 ? html`<p class="note">${count(others)} more of other causes: ${copyable('busgate dlq list')}</p>` : nothing}
    ${complete ? nothing : html`<p class="note">Older ones are still being read.</p>`}`
}

/** @typedef {{ name: string, kind: string }} Line */
/** @typedef {(number | null)[]} Points */
/** @typedef {(value: number) => number} Scale */

const height = 168
const margin = { top: 10, right: 8, bottom: 20, left: 44 }

/**
 * Line chart of the last ten minutes.
 * @param {{ history: History, lines: Line[], at: number, width: number }} chart width in pixels
 */
function chart({ history, lines, at, width }) {
  const { series, stepMs, room: length } = history
  const shown = lines.map(line => ({ ...line, values: series[line.name] ?? [] }))
  const top = niceTop(Math.max(1, ...shown.flatMap(({ values }) => values.map(Number))))
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
  const x = (/** @type {number} */ i) => margin.left + (i / (length - 1)) * inner.width
  const y = (/** @type {number} */ value) => margin.top + (1 - value / top) * inner.height
  const label = shown.map(({ name, values }) => `${name} ${spoken(values)}`).join(', ')
  return html`
    <svg class="chart" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img"
      aria-label="Current rates per second: ${label}">
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
      ${shown.map(({ kind, name, values }) => html`<span class="key ${kind}"><i></i>${name} <b>${perSecond(values.at(-1) ?? null)}</b></span>`)}
      <span class="muted">per second, mean of 10 s</span>
    </p>`
}

/** @param {Points} values */
const spoken = values => (values.at(-1) == null ? 'unknown' : perSecond(values.at(-1) ?? null))

/** Unknown values are gaps. @type {(values: Points, x: Scale, y: Scale) => string} */
const pathOf = (values, x, y) =>
  values
    .map((value, i) => {
      if (value === null) return ''
      const isFirst = i === 0 || values[i - 1] === null
      return `${isFirst ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`
    })
    .join('')

/** Rounds up to 1, 2, 4, 6, 8, 10, 20, … @param {number} most */
function niceTop(most) {
  const power = 10 ** Math.floor(Math.log10(most))
  const step = [1, 2, 4, 6, 8, 10].find(step => step * power >= most) ?? 10
  return step * power
}
