import { html, nothing } from '/lit-html.js'
import { dateTime, linkTo, span, visible, withTimes } from './format.js'
import { toneOf } from './tones.js'

/** @typedef {{ kind: string, time: string, place: string, text: string, detail: Record<string, unknown> | null }} StoryEvent */
/** @typedef {{ kind: 'conclusion', id: number | string, account: string, text: string }} Conclusion */
/** @typedef {{ id: number | string, found: boolean, lines: { kind: string }[], searched: string[] }} Story */
/** @typedef {{ id: number | string, account: string, type: string, tenant: string | null, correlationId: string | null, time: number }} FoundCommand */
/** @typedef {{ stories: Story[], commands: FoundCommand[], more: boolean, searched: string[] }} Answer */

/** The results of a search: the story of one message, or a list of messages. @param {Answer} answer @param {string} back */
export function answerView({ stories, commands, more, searched }, back) {
  const [story, ...others] = stories
  if (story && others.length === 0) return storyView(story)
  const listed =
    stories.length > 0 ? stories.map(one => storyLink(one, back)) : commands.map(one => commandLink(one, back))
  return html`
    ${listed.length === 0 ? html`<p class="conclusion">No message found.</p>` : html`<ul class="found">${listed}</ul>`}
    ${more ? html`<p class="note">More messages match. Only ${commands.length > 0 ? 'the newest ' : ''}${listed.length} are shown.</p>` : nothing}
    ${searchedView(searched)}`
}

/** @param {Story} story @param {string} back */
function storyLink({ id, lines }, back) {
  const [first] = conclusionsOf(lines)
  return html`
    <li><a href=${linkTo({ by: 'id', text: String(id), back })}>
      <b>${id}</b><span>${first ? withTimes(first.text) : ''}</span>
    </a></li>`
}

/** @param {FoundCommand} command @param {string} back */
function commandLink({ id, account, type, tenant, correlationId, time }, back) {
  const about = [type, `account ${account}`, tenant && `tenant ${tenant}`, correlationId].filter(Boolean).join(', ')
  return html`
    <li><a href=${linkTo({ by: 'id', text: String(id), back, account })}>
      <b>${id}</b><span>${visible(about)}</span><time>${dateTime(time)}</time>
    </a></li>`
}

/** @param {Story} story */
function storyView({ lines, searched }) {
  const events = /** @type {StoryEvent[]} */ (lines.filter(({ kind }) => kind !== 'conclusion' && kind !== 'searched'))
  const conclusions = conclusionsOf(lines)
  return html`
    ${conclusions.map(
      ({ account, text }) => html`
        <p class="conclusion ${toneOfMessage(events, account)}">
          ${conclusions.length > 1 ? html`<span class="muted">Account ${visible(account)}</span> ` : nothing}${withTimes(text)}
        </p>`,
    )}
    <ol class="story">${events.map((event, i) => eventView(event, events[i - 1]))}</ol>
    ${searchedView(searched)}`
}

/** @param {{ kind: string }[]} lines */
const conclusionsOf = lines => /** @type {Conclusion[]} */ (lines.filter(({ kind }) => kind === 'conclusion'))

/** @param {StoryEvent} event @param {StoryEvent | undefined} before */
function eventView({ kind, time, place, text, detail }, before) {
  const at = Date.parse(time)
  const gap = before ? at - Date.parse(before.time) : Number.NaN
  const isVerdict = detail?.isVerdict === true
  return html`
    <li class=${kindOf(kind, detail)}>
      <details>
        <summary>
          <span class="when"><time datetime=${time} title=${time}>${Number.isNaN(at) ? time : dateTime(at)}</time>
            ${Number.isNaN(gap) ? nothing : html`<span class="muted">+${span(gap)}</span>`}</span>
          <span class="what"><b>${kind}</b> ${isVerdict ? html`<span class="state good">verdict</span> ` : nothing}<span class="told">${withTimes(text.replace(/ ← the verdict$/, ''))}</span>
            <span class="place">${visible(place)}</span></span>
        </summary>
        <pre>${visibleLines(JSON.stringify(detail, null, 2))}</pre>
      </details>
    </li>`
}

/** @param {string} text */
const visibleLines = text => text.split('\n').map(visible).join('\n')

/** @param {string} kind @param {Record<string, unknown> | null} detail */
function kindOf(kind, detail) {
  const name = kind.replace(' ', '-')
  if (kind === 'result') return `${name} ${toneOf(String(detail?.outcome))}`
  return kind === 'status' ? `${name} ${toneOf(String(detail?.state))}` : name
}

/**
 * The colour of a message: that of its verdict, or of its final result. @param {StoryEvent[]} events @param {string} account
 */
function toneOfMessage(events, account) {
  const own = events.filter(({ detail }) => detail?.account === account)
  const verdict = own.find(({ detail }) => detail?.isVerdict === true)
  const result = own.findLast(({ kind, detail }) => kind === 'result' && detail?.outcome !== 'DUPLICATE')
  return toneOf(String(verdict?.detail?.state ?? result?.detail?.outcome))
}

/** @param {string[]} searched */
function searchedView(searched) {
  if (searched.length === 0) return nothing
  const [, ...lines] = searched
  return html`
    <details class="searched">
      <summary>Searched topics</summary>
      <ul>${lines.map(line => html`<li>${visible(line.trim())}</li>`)}</ul>
    </details>`
}
