import { html, nothing, render } from '/lit-html.js'
import { clockTime, endCommandsWith, linkTo, questionIn, visible } from './format.js'
import { nowPanels } from './now.js'
import { answerView } from './story.js'

/** @import { History, Now } from '../now.ts' */
/** @import { Question } from './format.js' */
/** @import { Answer } from './story.js' */

/** The complete state of the page. Each change redraws the page; lit-html updates only what differs. */
const state = {
  /** @type {Now | null} */
  now: null,
  /** @type {History | null} */
  history: null,
  connected: true,
  /** The search that is shown; null for the current state. @type {Question | null} */
  question: null,
  /** @type {Answer | null} */
  answer: null,
  /** @type {string | null} */
  problem: null,
  /** Aborts the running search. @type {AbortController | null} */
  searching: null,
  width: 600,
}

const kinds = { id: 'Id', correlation: 'Correlation id', phone: 'Phone ends with' }
const backs = {
  3600000: '1 hour',
  86400000: '1 day',
  604800000: '7 days',
  2592000000: '30 days',
  31536000000: '1 year',
}
const weekMs = '604800000'

function draw() {
  const { now, history, width, question } = state
  endCommandsWith(now ? now.commandFlags : '')
  const content = question
    ? found()
    : now && history
      ? nowPanels(now, history, width)
      : html`<p class="empty">Loading…</p>`
  render(html`${header()}<main>${notices()}${content}</main>`, document.body)
  measure()
}

function header() {
  const { now, question } = state
  const by = question?.by ?? 'id'
  return html`
    <header class="top">
      <a class="name" href="#" title="Current state">busgate</a>
      <form role="search" @submit=${submit}>
        <label class="hidden" for="by">Search by</label>
        <select id="by" name="by">
          ${Object.entries(kinds).map(([value, name]) =>
            value === 'phone' && !now?.reveal
              ? nothing
              : html`<option value=${value} ?selected=${value === by}>${name}</option>`,
          )}
        </select>
        <label class="hidden" for="text">Search text</label>
        <input id="text" name="text" type="search" placeholder="Search messages (press /)" autocomplete="off" spellcheck="false" maxlength="1000" />
        <label class="hidden" for="back">Search back to</label>
        <select id="back" name="back">
          ${Object.entries(backs).map(([value, name]) => html`<option value=${value} ?selected=${value === (question?.back || weekMs)}>${name}</option>`)}
        </select>
        <button type="submit">Find</button>
      </form>
    </header>`
}

/** Warnings that the page is incomplete. */
function notices() {
  const { now, connected } = state
  const shownAt = now ? clockTime(now.at) : 'before'
  const lines = [
    ...(connected ? [] : [`busgate ui does not answer. The page shows the state of ${shownAt}.`]),
    ...(now?.trouble ? [`${now.trouble.replace(/\.$/, '')}. Its figures are unknown.`] : []),
  ]
  if (lines.length === 0) return nothing
  return html`
    <section class="notice bad" role="alert" aria-label="Notices">
      <ul>${lines.map(line => html`<li>${visible(line)}</li>`)}</ul>
    </section>`
}

function found() {
  const { question, answer, problem, searching } = state
  if (!question) return nothing
  const kind = kinds[/** @type {keyof typeof kinds} */ (question.by)] ?? question.by
  return html`
    <section class="panel answer" aria-label="Search results" aria-busy=${searching ? 'true' : 'false'}>
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

/** Runs the search in the address; aborts the previous one. */
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
    const answer = await ask(question, ending.signal)
    if (state.searching === ending) state.answer = answer
  } catch (error) {
    if (state.searching === ending) state.problem = /** @type {Error} */ (error).message
  }
  if (state.searching !== ending) return
  state.searching = null
  draw()
}

/** @param {Question} question */
function showQuestion({ by, text }) {
  const input = searchField()
  if (input) input.value = text
  const select = /** @type {HTMLSelectElement | null} */ (document.getElementById('by'))
  if (select) select.value = by
}

/** @param {Question} question @param {AbortSignal} signal @returns {Promise<Answer>} */
async function ask(question, signal) {
  const given = Object.entries(question).filter(([, value]) => value)
  const answer = await fetch(`/api/messages?${new URLSearchParams(given)}`, { signal })
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
  }
}

/** Redraws the chart when its width has changed. */
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
