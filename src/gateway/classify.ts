import { Echo } from '../protocol/echo.ts'
import { echoedId, isRounded } from '../protocol/ids.ts'
import { knownErrorCode, type OperationType } from '../protocol/index.ts'
import { isObject, parseJson, stringifyJson } from '../protocol/json.ts'
import type { DoubtCause, ErrorCode } from '../vocabulary/lists.ts'
import type { Answer } from './connection.ts'

/**
 * The outcome of one operation in an envelope. `error` repeats nothing of the request; `data` may. `beside`: unspecified fields
 * of the item, if there are any.
 */
export type ItemAnswer =
  | { kind: 'sent'; data: unknown; beside?: Record<string, unknown> }
  | { kind: 'refused'; code: ErrorCode; error: string }
  | { kind: 'in_doubt' }

/** All that a successful item says, for operations whose payload is unspecified. */
export const contentOf = ({ data, beside }: ItemAnswer & { kind: 'sent' }): unknown =>
  beside === undefined ? data : { ...beside, data }

/** The outcome of an envelope, by the table in docs/delivery.md. */
export type Classified =
  /** Every operation has a definite outcome. */
  | { outcome: 'answered'; items: ItemAnswer[] }
  /** The key was refused; nothing was sent. */
  | { outcome: 'denied'; error: string }
  /**
   * The envelope was refused as a whole and nothing was sent; its halves may pass. `known`: whether the text has a known
   * meaning.
   */
  | { outcome: 'refused'; code: ErrorCode; known: boolean; error: string }
  /** Nothing was sent. `throttled`: by a rate limit; `withheld`: by the last check before the first byte. */
  | {
      outcome: 'not_sent'
      reason: 'throttled' | 'unreachable' | 'withheld'
      error: string
      retryAfterMs: number | null
    }
  /** Unknown, except for operations whose items match by id. */
  | { outcome: 'unknown'; cause: UnknownCause; error: string; items: ItemAnswer[] }

/** Why the outcome is unknown. */
export type UnknownCause = Exclude<DoubtCause, 'taken_over' | 'progress_reset'>

type Ids = readonly (string | null)[]

/**
 * The ids by which the items of an envelope are matched. A status alone in its envelope is matched by position, because its
 * item may name the gateway's own identifier.
 * @param operations each with the id that its item echoes, as decimal text; null if it echoes none
 */
export const matchedIds = (operations: readonly { type: OperationType; id: string | null }[]): Ids =>
  operations.length === 1 && operations[0]!.type === 'status' ? [null] : operations.map(({ id }) => id)

/**
 * HTTP statuses with a meaning of their own. The gateway always answers 200; a redirect or another 4xx comes from a proxy
 * that did not forward the request. Exceptions: 408 may mean that the proxy waited for the gateway, and 409 that something
 * knows the request.
 */
export const httpStatuses = { perhapsPassedOn: [408, 409], tooLarge: 413, tooMany: 429 }

/** A proxy, or the gateway, asks who it is. */
export const signInRefused: readonly number[] = [401, 403, 407]

const isRefusedInFront = (status: number): boolean =>
  status >= 300 && status < 500 && !httpStatuses.perhapsPassedOn.includes(status)

/**
 * Classifies an answer for each operation that was sent.
 * @param ids the operations' ids as decimal text, in the order they were sent; null for operations whose id is not echoed,
 *   such as those on templates, whose items may contain a template's id
 * @param errorTexts the user's own refusal texts
 */
export function classify(ids: Ids, answer: Answer, errorTexts: Readonly<Record<string, ErrorCode>> = {}): Classified {
  if (answer.kind === 'not_sent') {
    const reason = answer.cause === 'withheld' ? 'withheld' : 'unreachable'
    return { outcome: 'not_sent', reason, error: answer.message, retryAfterMs: null }
  }
  if (answer.kind === 'lost') return unknown(ids, answer.cause, answer.message)
  if (answer.status !== 200) return classifyStatus(ids, answer)
  return classifyBody(ids, answer.body, { errorTexts, echo: Echo.of(answer.request) })
}

/**
 * Whether the answer is definite and shows that the gateway accepts the key. An outcome of an operation does, even a refusal;
 * so does the refusal of an envelope for a known reason other than the key. An unknown text may mean anything, and HTTP 413
 * comes from a proxy: both have the code REJECTED.
 */
export function acceptsKey(classified: Classified): boolean {
  if (classified.outcome === 'answered') return true
  return classified.outcome === 'refused' && classified.code !== 'REJECTED'
}

/** Whether the answer may belong to another request, because it does not fit its own. */
export const isMisplaced = (classified: Classified): boolean =>
  classified.outcome === 'unknown' && misplaced.includes(classified.cause)

const misplaced: readonly UnknownCause[] = ['items_differ', 'foreign_body', 'contradiction']

/** How to read error texts. */
interface Texts {
  /** The user's own. */
  errorTexts: Readonly<Record<string, ErrorCode>>
  echo: Echo
}

/** The code of a refusal; null if its text is unknown. A known text is the same whatever was sent. */
function refusalOf(error: unknown, { errorTexts, echo }: Texts): { code: ErrorCode | null; error: string } {
  const text = textOf(error)
  const code = knownErrorCode(text, errorTexts)
  return { code, error: code === null ? echo.text(text) : text }
}

function classifyStatus(ids: Ids, answer: Answer & { kind: 'response' }): Classified {
  const { request, status, body, retryAfterMs, location } = answer
  const error = statusText(status, location && Echo.of(request).text(location))
  if (!isRefusedInFront(status) || parseObject(body)?.success === true) return unknown(ids, 'http_status', error)
  if (status === httpStatuses.tooLarge) return { outcome: 'refused', code: 'REJECTED', known: true, error }
  return {
    outcome: 'not_sent',
    reason: status === httpStatuses.tooMany ? 'throttled' : 'unreachable',
    error,
    retryAfterMs,
  }
}

function statusText(status: number, location: string | undefined): string {
  if (location !== undefined) return `HTTP ${status}, a redirect to ${location}: set gateway.url`
  if (!signInRefused.includes(status)) return `HTTP ${status}`
  return `HTTP ${status}: the gateway, or a proxy in front of it, refused the sign-in: check the API key and the proxy`
}

function classifyBody(ids: Ids, body: string, texts: Texts): Classified {
  const envelope = parseObject(body)
  if (!envelope || typeof envelope.success !== 'boolean') {
    return unknown(ids, 'foreign_body', 'the answer is not an envelope of the gateway')
  }
  const items: unknown[] = Array.isArray(envelope.data) ? envelope.data : []
  if (!envelope.success) {
    if (items.some(item => isObject(item) && item.success === true)) {
      return unknown(ids, 'contradiction', 'the envelope is refused, but one of its items is not')
    }
    const { code, error } = refusalOf(envelope.error, texts)
    if (code === 'ACCESS_DENIED') return { outcome: 'denied', error }
    if (code === 'THROTTLED') return { outcome: 'not_sent', reason: 'throttled', error, retryAfterMs: null }
    return { outcome: 'refused', code: code ?? 'REJECTED', known: code !== null, error }
  }
  if (inOrder(items, ids)) return { outcome: 'answered', items: items.map(item => answerOf(item as Item, texts)) }
  const error = `${items.length} items for ${ids.length} operations, or other ids`
  return { outcome: 'unknown', cause: 'items_differ', error, items: matchById(ids, items, texts) }
}

interface Item {
  success: boolean
  error?: unknown
  data?: unknown
}

const inOrder = (items: readonly unknown[], ids: Ids): boolean =>
  items.length === ids.length && (items.every((item, i) => answers(item, ids[i] ?? null)) || areRounded(items, ids))

/**
 * Whether the items are in order, and some of their ids lost digits. Then ids with the same first digits became one; where they
 * did not, they are exact and in another order.
 */
function areRounded(items: readonly unknown[], ids: Ids): boolean {
  const echoes = new Map<number, unknown>()
  return items.every((item, i) => {
    const id = ids[i] ?? null
    const exact = answers(item, id)
    if (id === null || !isObject(item) || !isObject(item.data)) return exact
    const echoed = item.data.id
    if (!exact && !(typeof item.success === 'boolean' && isRounded(echoed, id))) return false
    const first = echoes.get(Number(id)) ?? echoed
    echoes.set(Number(id), first)
    return Number(id) <= Number.MAX_SAFE_INTEGER || first === echoed
  })
}

/** An item belongs to the operation at its position unless it echoes another id; some types echo none. */
function answers(item: unknown, id: string | null): item is Item {
  if (!isObject(item) || typeof item.success !== 'boolean') return false
  if (id === null) return true
  const echoed = echoedIn(item)
  return echoed === undefined || echoed === id
}

function answerOf(item: Item, texts: Texts): ItemAnswer {
  if (item.success) return { kind: 'sent', data: item.data, ...besideIn(item) }
  const { code, error } = refusalOf(item.error, texts)
  return { kind: 'refused', code: code ?? 'REJECTED', error }
}

/**
 * Matches items by id. A match is definite only if exactly one item and one operation have the id, and no item can contain an
 * id that is not an echo.
 */
function matchById(ids: Ids, items: unknown[], texts: Texts): ItemAnswer[] {
  const byId = new Map<string, Item | null>()
  for (const item of items) {
    if (!isObject(item) || typeof item.success !== 'boolean') continue
    const id = echoedIn(item)
    if (id !== undefined) byId.set(id, byId.has(id) ? null : (item as unknown as Item))
  }
  const seen = new Set<string | null>()
  const sentTwice = new Set<string | null>()
  for (const id of ids) (seen.has(id) ? sentTwice : seen).add(id)
  return ids.map(id => {
    const item = id === null || seen.has(null) || sentTwice.has(id) ? null : byId.get(id)
    return item ? answerOf(item, texts) : { kind: 'in_doubt' }
  })
}

function unknown(ids: Ids, cause: UnknownCause, error: string): Classified {
  return { outcome: 'unknown', cause, error, items: ids.map(() => ({ kind: 'in_doubt' })) }
}

const echoedIn = ({ data }: Record<string, unknown>) => (isObject(data) ? echoedId(data.id) : undefined)

const noFields = {}

/** What a successful item holds besides its `data`. */
function besideIn(item: Item): { beside?: Record<string, unknown> } {
  let hasMore = false
  for (const name in item) hasMore ||= name !== 'success' && name !== 'data'
  if (!hasMore) return noFields
  const { success: _, data: __, ...beside } = item
  return { beside }
}

export function parseObject(body: string): Record<string, unknown> | null {
  try {
    const value = parseJson(body)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The specification says text; any other value is shown as JSON, unless it is nested thousands of levels deep. */
function textOf(error: unknown): string {
  if (error === undefined || error === null || error === '') return 'no reason given'
  if (typeof error === 'string') return error
  try {
    return stringifyJson(error)
  } catch {
    return 'a reason that cannot be shown'
  }
}
