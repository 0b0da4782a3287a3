import { html, nothing, svg } from '/lit-html.js'
import { linkTo } from './address.js'
import { chart } from './chart.js'
import { clockTime, copyable, count, dateTime, percent, perSecond, span, visible, withTimes } from './format.js'

/** @import { AccountNow, ChannelRow, DeadLetterCause, FunnelRow, History, Now, PartitionNow } from '../now.ts' */
/** @typedef {{ ready: number, examples: { at: string }[], refused: { why: string, count: number }[], command: string }} ReplayPreview */
/** @typedef {ReplayPreview | 'asking' | { error: string }} Preview */
/**
 * @typedef {object} NowView
 * @property {Now} now
 * @property {History} history
 * @property {number} width of the chart, in pixels
 * @property {number | null} hovered
 * @property {(point: number | null) => void} onHover
 * @property {Map<string, Preview>} previews
 * @property {(cause: DeadLetterCause) => void} onPreview
 */

/** Draws what goes on. @param {NowView} view */
export function nowPanels(view) {
  const { now } = view
  const told = now.figures === 'workers' ? "from the workers' metrics" : 'from the topics'
  const since = `${told}, since ${clockTime(now.since)}`
  return html`
    ${pauses(now)}
    <div class="panels">
      ${panel('Commands a second', told, traffic(view), 'wide')}
      ${panel('From command to verdict', since, funnel(now), 'wide')}
      ${panel('Failures by reason', since, failures(now))}
      ${panel('Open doubts', 'from the topic of doubts', doubts(now))}
      ${panel('Accounts', told, accounts(now))}
      ${panel('Lag and window', told, partitions(now))}
      ${panel('Dead letters by cause', 'from their topic', deadLetters(view), 'wide')}
    </div>`
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

const notKnown = empty('Not known now.')

/** What was counted before is all that is known. @param {Now} now */
const cutShort = ({ counting }) =>
  counting ? nothing : html`<p class="note">Not all of it: what happens now is not known.</p>`

/** Draws what is paused, above everything else. @param {Now} now */
function pauses({ pauses }) {
  if (pauses.length === 0) return nothing
  return html`
    <section class="notice warn" aria-label="Pauses">
      <h2>Paused</h2>
      <ul>${pauses.map(({ what, why }) => html`<li><b>${visible(what)}</b> ${withTimes(why)}</li>`)}</ul>
    </section>`
}

/** @param {NowView} view */
function traffic({ now, history, width, hovered, onHover }) {
  const kinds = ['first', 'second', 'third', 'fourth']
  const lines = now.lanes.map(({ topic }, i) => ({ name: topic, label: topic, kind: kinds[i % kinds.length] ?? '' }))
  lines.push({ name: 'results', label: 'results', kind: 'results' })
  return html`<div id="chart">${chart({ history, lines, at: now.at, width, hovered, onHover })}</div>`
}

/** @param {Now} now */
function funnel(now) {
  const { funnel, channels, lanes, counting } = now
  const commands = lanes.reduce((sum, lane) => sum + lane.commands, 0)
  if (funnel.length === 0 && commands === 0) return counting ? empty('Nothing came yet.') : notKnown
  if (channels === null) return html`${funnelTable(funnel, commands)}${cutShort(now)}`
  return html`
    ${cutShort(now)}
    <p class="big"><b>${count(commands)}</b> commands</p>
    <div class="pair">${resultsTable(funnel)}${channelsTable(channels)}</div>
    <p class="note">Workers count each status event by the channel that delivered: a message that was read as well counts twice.</p>`
}

/** @param {FunnelRow[]} rows @param {number} commands */
function funnelTable(rows, commands) {
  const row = (/** @type {FunnelRow} */ { type, commands, delivered, notDelivered, ...results }) => html`
    <tr>
      <th scope="row">${visible(type)}</th><td>${count(commands)}</td>${resultCells(results)}
      <td class="good">${zero(delivered ?? 0)}</td><td class="bad">${zero(notDelivered ?? 0)}</td>
      <td class="bar">${shareBar(results.sent, delivered ?? 0, notDelivered ?? 0)}</td>
    </tr>`
  return html`
    <div class="scroll"><table>
      <thead>
        <tr class="groups">
          <td></td><td></td><th scope="colgroup" colspan="4"><span>results</span></th><th scope="colgroup" colspan="2"><span>verdicts</span></th><td></td>
        </tr>
        <tr>
          <th scope="col">type</th><th scope="col">commands</th>${resultHeads}
          <th scope="col">delivered</th><th scope="col">not delivered</th>
          <th scope="col" class="bar"><span class="hidden">verdicts among what was sent</span></th>
        </tr>
      </thead>
      <tbody>${rows.map(row)}</tbody>
      <tfoot>${row({ ...sumOf(rows), type: 'all', commands })}</tfoot>
    </table></div>`
}

/** @param {FunnelRow[]} rows */
function resultsTable(rows) {
  const row = (/** @type {FunnelRow} */ one) =>
    html`<tr><th scope="row">${visible(one.type)}</th>${resultCells(one)}</tr>`
  return html`
    <div class="scroll"><table>
      <thead><tr><th scope="col">results by type</th>${resultHeads}</tr></thead>
      <tbody>${rows.map(row)}</tbody>
      <tfoot>${row({ ...sumOf(rows), type: 'all', commands: null })}</tfoot>
    </table></div>`
}

/** @param {ChannelRow[]} rows */
function channelsTable(rows) {
  const row = (/** @type {ChannelRow} */ { channel, delivered, notDelivered }) => html`
    <tr>
      <th scope="row">${visible(channel)}</th><td class="good">${zero(delivered)}</td><td class="bad">${zero(notDelivered)}</td>
      <td class="bar">${shareBar(0, delivered, notDelivered)}</td>
    </tr>`
  const sum = (/** @type {'delivered' | 'notDelivered'} */ of) => rows.reduce((total, one) => total + one[of], 0)
  return html`
    <div class="scroll"><table>
      <thead><tr><th scope="col">verdicts by channel</th><th scope="col">delivered</th><th scope="col">not delivered</th><th class="bar"></th></tr></thead>
      <tbody>${rows.map(row)}</tbody>
      <tfoot>${row({ channel: 'all', delivered: sum('delivered'), notDelivered: sum('notDelivered') })}</tfoot>
    </table></div>`
}

const resultHeads = html`<th scope="col">sent</th><th scope="col">not sent</th><th scope="col">was in doubt</th><th scope="col">unresolved</th>`

/** @param {Pick<FunnelRow, 'sent' | 'notSent' | 'inDoubt' | 'unresolved'>} row */
const resultCells = ({ sent, notSent, inDoubt, unresolved }) =>
  html`<td>${zero(sent)}</td><td class="bad">${zero(notSent)}</td><td class="doubt">${zero(inDoubt)}</td><td class="bad">${zero(unresolved)}</td>`

/** @param {number} number */
const zero = number => (number === 0 ? html`<span class="zero">0</span>` : count(number))

/** @param {FunnelRow[]} rows */
function sumOf(rows) {
  const sum = (/** @type {(row: FunnelRow) => number | null} */ of) =>
    rows.reduce((total, row) => total + (of(row) ?? 0), 0)
  return {
    sent: sum(row => row.sent),
    notSent: sum(row => row.notSent),
    inDoubt: sum(row => row.inDoubt),
    unresolved: sum(row => row.unresolved),
    delivered: sum(row => row.delivered),
    notDelivered: sum(row => row.notDelivered),
  }
}

/** @param {number} sent @param {number} delivered @param {number} notDelivered */
function shareBar(sent, delivered, notDelivered) {
  const all = Math.max(sent, delivered + notDelivered)
  if (all === 0) return nothing
  return html`
    <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="8" />
      <rect class="good" width=${(delivered / all) * 100} height="8" />
      <rect class="bad" x=${(delivered / all) * 100} width=${(notDelivered / all) * 100} height="8" />
    </svg>`
}

/** @param {number} share @param {string} kind */
const gauge = (share, kind) => html`
  <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="8" />${svg`<rect class=${kind} width=${Math.min(1, share) * 100} height="8" />`}
  </svg>`

const hourMs = '3600000'

/** @param {Now} now */
function failures(now) {
  const { failures, counting } = now
  if (failures.length === 0) return counting ? empty('No failures.') : notKnown
  const most = Math.max(...failures.map(({ count }) => count))
  return html`
    <ul class="bars">
      ${failures.map(
        ({ outcome, errorCode, count: number, remedy }) => html`
          <li>
            <div>
              <b>${visible(errorCode || outcome)}</b> <span class="muted">${outcome.toLowerCase()}</span>
              <a href=${linkTo({ by: 'failure', text: `${outcome} ${errorCode}`.trim(), back: hourMs })}>Examples</a>
              <span class="number">${count(number)}</span>
            </div>
            ${gauge(number / most, 'bad')}
            ${remedy ? html`<p class="note">${remedy}.</p>` : nothing}
          </li>`,
      )}
    </ul>
    ${cutShort(now)}`
}

/** @param {Now} now */
function doubts({ doubts, at }) {
  if (doubts.open === null) return notKnown
  if (doubts.open === 0) return empty('No doubts: of every request it is known whether it was sent.')
  return html`
    <p class="big"><b>${count(doubts.open)}</b> perhaps sent</p>
    <div class="scroll"><table>
      <thead><tr><th scope="col">id</th><th scope="col" class="text">cause</th><th scope="col">since</th><th scope="col" class="text">waits for</th></tr></thead>
      <tbody>
        ${doubts.oldest.map(
          ({ id, cause, attempts, postedAt, waitsFor, account }) => html`
            <tr>
              <th scope="row"><a href=${linkTo({ by: 'id', text: id, account })}>${id}</a></th>
              <td class="text">${cause}${attempts > 1 ? html` <span class="muted">${attempts} attempts</span>` : nothing}</td>
              <td title=${dateTime(postedAt)}>${span(at - postedAt)}</td>
              <td class="text">${waitsFor}</td>
            </tr>`,
        )}
      </tbody>
    </table></div>
    ${doubts.open > doubts.oldest.length ? html`<p class="note">These are the oldest.</p>` : nothing}`
}

/** @param {Now} now */
function accounts({ accounts, figures }) {
  const unit = figures === 'workers' ? 'requests/s' : 'sent/s'
  if (accounts.length === 0) return empty('No account is known.')
  return html`
    <div class="scroll"><table>
      <thead><tr><th scope="col">account</th><th scope="col" class="text">state</th><th scope="col">${unit}</th><th scope="col">rate</th><th scope="col">headroom</th><th scope="col">learnt</th></tr></thead>
      <tbody>${accounts.map(one => accountRow(one))}</tbody>
    </table></div>
    ${figures === 'topics' ? html`<p class="note">State, headroom and what was learnt are known to the workers alone. A page that asks them: ${copyable('busgate ui --workers http://worker:9464')}</p>` : nothing}`
}

/** @param {AccountNow} account */
function accountRow({ account, perSecond: used, rate, headroom, learnt, state }) {
  const kind = state === 'sending' ? 'good' : state === null ? '' : 'bad'
  return html`
    <tr>
      <th scope="row">${visible(account)}</th>
      <td class="text"><span class="state ${kind}">${state ?? 'not known'}</span></td>
      <td>${perSecond(used)}</td>
      <td>${rate === null ? 'no limit' : `${count(rate)}/s`}</td>
      <td>${headroom === null ? '–' : percent(headroom)}</td>
      <td>${learnt === null ? '–' : `${perSecond(learnt)}/s`}</td>
    </tr>`
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
  const fullest = Math.max(...own.map(({ window }) => window))
  return html`
    <details class="topic">
      <summary>
        <b>${topic}</b><span class="number">${count(lag)} behind</span>
        <span class="muted">${own.length} partitions, fullest window ${percent(fullest)}${unread > 0 ? `, ${unread} not begun` : ''}</span>
        ${gauge(fullest, fullest > 0.8 ? 'bad' : 'used')}
      </summary>
      <table>
        <thead><tr><th scope="col">partition</th><th scope="col">lag</th><th scope="col">window</th><th class="bar"></th></tr></thead>
        <tbody>
          ${own
            .toSorted((a, b) => a.partition - b.partition)
            .map(
              ({ partition, lag, window }) => html`
                <tr>
                  <th scope="row">${partition}</th><td>${lag === null ? 'not begun' : count(lag)}</td><td>${percent(window)}</td>
                  <td class="bar">${gauge(window, window > 0.8 ? 'bad' : 'used')}</td>
                </tr>`,
            )}
        </tbody>
      </table>
    </details>`
}

/** @param {DeadLetterCause} cause */
export const nameOfCause = ({ stage, code, topic }) => JSON.stringify([stage, code, topic])

/** @param {NowView} view */
function deadLetters({ now: { deadLetters }, previews, onPreview }) {
  const { known, complete, total, causes } = deadLetters
  if (total === 0) return known ? empty('No dead letters.') : notKnown
  return html`
    <ul class="causes">
      ${causes.map(cause => {
        const { code, topic, count: number, newest, at, message, failsAgain } = cause
        const preview = previews.get(nameOfCause(cause))
        return html`
          <li>
            <div>
              <b>${visible(code || 'without a code')}</b> <span class="muted">${topic === null ? 'callbacks' : `from ${visible(topic)}`}</span>
              <span class="number">${count(number)}</span>
            </div>
            <p>${visible(message)} <span class="muted">Newest ${newest < 0 ? '' : dateTime(newest)} at ${at}.</span></p>
            ${failsAgain ? html`<p class="problem">${failsAgain}</p>` : nothing}
            ${
              topic === null
                ? nothing
                : html`<button type="button" ?disabled=${preview === 'asking'} @click=${() => onPreview(cause)}>
                    ${preview === 'asking' ? 'Looking…' : 'What would a replay do?'}</button>`
            }
            ${preview && preview !== 'asking' ? replayPreview(preview, failsAgain) : nothing}
          </li>`
      })}
    </ul>
    ${complete ? nothing : html`<p class="note">Older ones are still being read.</p>`}`
}

/** @param {ReplayPreview | { error: string }} preview @param {string | null} failsAgain */
function replayPreview(preview, failsAgain) {
  if ('error' in preview) return html`<p class="problem" role="status">${preview.error}</p>`
  const { ready, examples, refused, command } = preview
  const more = ready > examples.length ? ', …' : ''
  return html`
    <div class="preview" role="status">
      <p>
        <b>${count(ready)}</b> would be sent again${ready > 0 ? html` <span class="muted">(${examples.map(({ at }) => at).join(', ')}${more})</span>` : nothing}${refused.map(
          ({ why, count: number }) => html`; <b>${count(number)}</b> would not: ${why}`,
        )}. Nothing was replayed.
      </p>
      ${
        ready > 0
          ? html`<p>${failsAgain ? 'They would become dead letters again:' : 'When what was wrong is mended, and their producer has sent none of them anew:'} ${copyable(`${command} --yes`)}</p>`
          : nothing
      }
    </div>`
}
