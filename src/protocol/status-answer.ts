import { isObject } from './json.ts'
import { meaningOfStatus } from './states.ts'
import { flagOrNull } from './tolerant.ts'

/**
 * What a successful answer to `status` proves of its message. `sent`: it was sent. `not_found`: the gateway says that it does
 * not know it. `unknown`: nothing. `unreadable`: nothing either, but the gateway may know it: never send it again.
 */
export type StatusProof = 'sent' | 'not_found' | 'unknown' | 'unreadable'

export interface StatusAnswer {
  proof: StatusProof
  /** The gateway's status text, wherever it stands; empty if there is none. */
  text: string
}

/** Fields that only repeat the request, or identify what was sent. */
const echoes: readonly string[] = ['type', 'id', 'phone', 'msg_id', 'request_id']

/**
 * Reads the content of a successful answer to `status`, whose shape is unspecified (specification: Records still open). Any text
 * in it proves that the message was sent, unless it is UNKNOWN, "not found", an echo, or in an answer that contradicts it. A
 * number is no text.
 * @param content `data` of the item, with what stands beside it
 * @param notFoundTexts texts by which the gateway says that it does not know a message
 */
export function readStatusAnswer(content: unknown, notFoundTexts: readonly string[] = []): StatusAnswer {
  const { texts, success } = partsOf(content)
  const words = texts.map(one => ({ ...one, meaning: meaningOf(one, notFoundTexts) }))
  const found = (meaning: Meaning) => words.find(word => word.meaning === meaning)
  const [listed, other, notFound, unknown] = [found('listed'), found('other'), found('not_found'), found('unknown')]
  const isDenied = notFound !== undefined || unknown !== undefined || success === false || found('error') !== undefined
  const text = (listed ?? other ?? unknown ?? notFound)?.text ?? ''
  if (listed) return { proof: 'sent', text }
  if (other) return { proof: isDenied ? 'unreadable' : 'sent', text }
  if (found('error')) return { proof: 'unreadable', text }
  if (notFound) return { proof: 'not_found', text }
  if (unknown) return { proof: 'unknown', text }
  return { proof: success === true ? 'sent' : 'unreadable', text }
}

/**
 * Returns what the content of a successful answer to `status` proves of its message. Only after `not_found` and `unknown` may it
 * be sent again.
 */
export const statusProof = (content: unknown, notFoundTexts: readonly string[] = []): StatusProof =>
  readStatusAnswer(content, notFoundTexts).proof

/** Whether a text of the gateway is one of these, without case, surrounding spaces and a final full stop. */
export const isNotFound = (text: string, notFoundTexts: readonly string[]): boolean =>
  notFoundTexts.some(one => fold(one) === fold(text))

const fold = (text: string): string => text.trim().toLowerCase().replace(/\.$/, '')

interface Word {
  /** The field in which it stands; a list has its own field's. */
  field: string
  text: string
}

type Meaning = 'listed' | 'unknown' | 'not_found' | 'error' | 'other'

function meaningOf({ field, text }: Word, notFoundTexts: readonly string[]): Meaning {
  if (isNotFound(text, notFoundTexts)) return 'not_found'
  const state = meaningOfStatus(text)
  if (state !== undefined) return state === 'UNKNOWN' ? 'unknown' : 'listed'
  return field === 'error' ? 'error' : 'other'
}

/** The texts of an answer, those of `status` first, then the outer ones first; and its `success`, where false counts more. */
function partsOf(content: unknown): { texts: Word[]; success: boolean | null } {
  const queue: { field: string; value: unknown }[] = [{ field: '', value: content }]
  const texts: Word[] = []
  let success: boolean | null = null
  for (const { field, value } of queue) {
    const flag = field === 'success' ? flagOrNull(value) : null
    if (flag !== null) success = flag && success !== false
    else if (typeof value === 'string') {
      if (/\p{L}/u.test(value) && !echoes.includes(field)) texts.push({ field, text: value })
    } else if (Array.isArray(value)) for (const one of value) queue.push({ field, value: one })
    else if (isObject(value)) for (const [name, one] of Object.entries(value)) queue.push({ field: name, value: one })
  }
  const isStatus = ({ field }: Word) => field === 'status'
  return { texts: [...texts.filter(isStatus), ...texts.filter(one => !isStatus(one))], success }
}
