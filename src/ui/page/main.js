import { html, nothing, render } from '/lit-html.js'
import { linkTo, questionIn } from './address.js'
import { clockTime, visible } from './format.js'
import { nameOfCause, nowPanels } from './now.js'
import { answerView } from './story.js'

/** @import { History, Now } from '../now.ts' */
/** @import { Question } from './address.js' */
/** @import { Preview } from './now.js' */
/** @import { Answer } from './story.js' */

/*
 * All that the page knows is in `state`; whatever changes it draws the page anew, and lit-html touches only what differs.
 */
const state = {
  /** @type {Now | null} */
  now: null,
  /** @type {History | null} */
  history: null,
  connected: true,
  /** What is looked at; null: how it is now. @type {Question | null} */
  question: null,
  /** @type {Answer | null} */
  answer: null,
  /** @type {string | null} */
  problem: null,
  /** Gives up the search that is under way. @type {AbortController | null} */
  searching: null,
  /** @type {Map<string, Preview>} */
  previews: new Map(),
  /** @type {number | null} */
  hovered: null,
  width: 600,
}

const kinds = { id: 'Id', correlation: 'Correlation id', tenant: 'Tenant', phone: 'Phone ends with' }
const backs = {
  3600000: '1 hour',
  86400000: '1 day',
  604800000: '7 days',
  2592000000: '30 days',
  31536000000: '1 year',
}
const weekMs = '604800000'

const body = document.body

function draw() {
  const { now, question } = state
  render(
    html`${header()}<main>${notices()}${question ? found() : now && state.history ? nowPanels(nowView()) : waiting()}</main>`,
    body,
  )
  measure()
}

const waiting = () => html`<p class="empty">Asking how it is…</p>`

function nowView() {
  const { now, history, width, hovered, previews } = state
  if (!now || !history) throw new Error('nothing is known yet')
  /** @param {number | null} point */
  const onHover = point => {
    state.hovered = point
    draw()
  }
  return { now, history, width, hovered, onHover, previews, onPreview: preview }
}

function header() {
  const { now, question } = state
  const by = question?.by ?? 'id'
  return html`
    <header class="top">
      <a class="name" href="#" title="How it is now">busgate</a>
      <form role="search" @submit=${submit}>
        <label class="hidden" for="by">Search by</label>
        <select id="by" name="by">
          ${Object.entries(kinds).map(([value, name]) =>
            value === 'phone' && !now?.show
              ? nothing
              : html`<option value=${value} ?selected=${value === by}>${name}</option>`,
          )}
        </select>
        <label class="hidden" for="text">What to search for</label>
        <input id="text" name="text" type="search" placeholder="What became of …  press /" autocomplete="off" spellcheck="false" maxlength="1000" />
        <label class="hidden" for="back">How far to look back</label>
        <select id="back" name="back">
          ${Object.entries(backs).map(([value, name]) => html`<option value=${value} ?selected=${value === (question?.back || weekMs)}>${name}</option>`)}
        </select>
        <button type="submit">Find</button>
      </form>
      ${sources()}
    </header>`
}

function sources() {
  if (!state.now) return nothing
  return html`
    <ul class="sources" aria-label="Sources">
      ${state.now.sources.map(({ name, kind, trouble, reasons }) => {
        const how = trouble ? 'bad' : reasons.length > 0 ? 'doubt' : 'good'
        const said = trouble ?? (reasons.length > 0 ? reasons.join('; ') : 'is reached')
        return html`<li class=${how} title=${`${name}: ${said}`}><i></i>${kind === 'worker' ? `worker ${name}` : 'brokers'}<span class="hidden">: ${said}</span></li>`
      })}
    </ul>`
}

/** Each partition of a worker has a reason of its own. */
const mostReasons = 3

/** Lists what keeps the page from telling all. */
function notices() {
  const { now, connected } = state
  const lines = (now?.sources ?? []).flatMap(({ name, kind, trouble, reasons }) => {
    const what = kind === 'worker' ? 'Worker' : 'Brokers'
    const who = trouble?.includes(name) ? what : `${what} ${name}`
    if (trouble) return [[`${who}:`, `${trouble.replace(/\.$/, '')}. Figures from there are not known now.`]]
    const more = reasons.length > mostReasons ? `; and ${reasons.length - mostReasons} more` : ''
    return reasons.length > 0 ? [[`${who} is not ready:`, `${reasons.slice(0, mostReasons).join('; ')}${more}`]] : []
  })
  if (!connected)
    lines.unshift([
      'busgate ui does not answer any more.',
      `What is shown is of ${now ? clockTime(now.at) : 'before'}.`,
    ])
  if (lines.length === 0) return nothing
  const isBlind = !connected || now?.sources.some(({ trouble }) => trouble !== null)
  return html`
    <section class="notice ${isBlind ? 'bad' : ''}" role=${isBlind ? 'alert' : 'status'} aria-label="Notices">
      <ul>${lines.map(([who = '', what = '']) => html`<li><b>${visible(who)}</b> ${visible(what)}</li>`)}</ul>
    </section>`
}

function found() {
  const { question, answer, problem, searching } = state
  if (!question) return nothing
  const kind =
    question.by === 'failure' ? 'Failures by' : (kinds[/** @type {keyof typeof kinds} */ (question.by)] ?? question.by)
  return html`
    <section class="panel answer" aria-label="What was found" aria-busy=${searching ? 'true' : 'false'}>
      <header>
        <h2>${kind} ${visible(question.text)}</h2>
        ${question.account ? html`<span class="muted">account ${visible(question.account)}</span>` : nothing}
        <a class="close" href="#">Close <kbd>Esc</kbd></a>
      </header>
      ${searching ? html`<p class="empty" role="status">Searching…</p>` : nothing}
      ${problem ? html`<p class="problem" role="alert">${problem}</p>` : nothing}
      ${answer ? answerView(answer, question.back ?? '') : nothing}
    </section>`
}

/** @param {SubmitEvent} event */
function submit(event) {
  event.preventDefault()
  const given = new FormData(/** @type {HTMLFormElement} */ (event.target))
  const text = String(given.get('text')).trim()
  if (text === '') return
  const by = String(given.get('by'))
  const back = String(given.get('back'))
  const isNoId = by === 'id' && !/^\d{1,19}$/.test(text)
  const address = linkTo({ by: isNoId ? 'correlation' : by, text, back })
  if (address === location.hash) void search()
  else location.hash = address
}

/** Looks for what the address names, in place of whatever is looked for now. */
async function search() {
  state.searching?.abort()
  Object.assign(state, { question: questionIn(location.hash), answer: null, problem: null, searching: null })
  const { question } = state
  if (!question) return draw()
  const ending = new AbortController()
  state.searching = ending
  draw()
  showQuestion(question)
  try {
    const answer = await ask('/api/messages', { ...question }, ending.signal)
    if (state.searching === ending) state.answer = /** @type {Answer} */ (answer)
  } catch (error) {
    if (state.searching === ending) state.problem = /** @type {Error} */ (error).message
  }
  if (state.searching !== ending) return
  state.searching = null
  draw()
}

/** @param {Question} question */
function showQuestion({ by, text }) {
  if (by === 'failure') return
  const input = searchField()
  if (input) input.value = text
  const select = /** @type {HTMLSelectElement | null} */ (document.getElementById('by'))
  if (select) select.value = by
}

/** @param {import('../now.ts').DeadLetterCause} cause */
async function preview(cause) {
  const name = nameOfCause(cause)
  state.previews.set(name, 'asking')
  draw()
  try {
    const { stage, code, topic } = cause
    const found = await ask('/api/replay', { stage, code, topic: topic ?? '' })
    state.previews.set(name, /** @type {Preview} */ (found))
  } catch (error) {
    state.previews.set(name, { error: /** @type {Error} */ (error).message })
  }
  draw()
}

/** @param {string} path @param {Record<string, string | undefined>} asked @param {AbortSignal} [signal] @returns {Promise<unknown>} */
async function ask(path, asked, signal) {
  const given = Object.entries(asked).flatMap(([name, value]) => (value ? [[name, value]] : []))
  const answer = await fetch(`${path}?${new URLSearchParams(given)}`, { signal: signal ?? null })
  const found = await answer.json()
  if (!answer.ok) throw new Error(found.error)
  return found
}

const searchField = () => /** @type {HTMLInputElement | null} */ (document.getElementById('text'))

/** @param {KeyboardEvent} event */
function key(event) {
  const { target, key } = event
  const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (key === '/' && !isTyping) {
    event.preventDefault()
    searchField()?.select()
  } else if (key === 'Escape') {
    if (state.question) location.hash = ''
    if (isTyping) target.blur()
  } else if ((key === 'ArrowDown' || key === 'ArrowUp') && !(target instanceof HTMLSelectElement)) {
    const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-row]')])
    const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement))
    const next = rows[key === 'ArrowDown' ? at + 1 : at - 1]
    if (!next && !(key === 'ArrowUp' && at === 0)) return
    event.preventDefault()
    if (next) next.focus()
    else searchField()?.select()
  }
}

/** The chart is drawn for the width that it has. */
function measure() {
  const width = document.getElementById('chart')?.clientWidth
  if (!width || width === state.width) return
  state.width = width
  draw()
}

function listen() {
  const events = new EventSource('/api/now')
  events.addEventListener('history', event => {
    state.history = JSON.parse(event.data)
  })
  events.addEventListener('now', event => {
    const now = /** @type {Now} */ (JSON.parse(event.data))
    for (const [name, point] of Object.entries(now.points)) {
      const line = state.history?.series[name]
      if (!line || now.at === state.now?.at) continue
      line.push(point)
      if (line.length > (state.history?.room ?? 0)) line.shift()
    }
    Object.assign(state, { now, connected: true })
    draw()
  })
  events.addEventListener('error', () => {
    state.connected = false
    draw()
  })
}

addEventListener('hashchange', () => void search())
addEventListener('keydown', key)
addEventListener('resize', measure)
listen()
void search()
