import type { LetterFilters } from '../inspect/dead-letters/letter.ts'
import { weekMs } from '../inspect/message/tell.ts'
import type { SearchQuestion } from './searches.ts'

/** The page asked for something that makes no sense; the message says what would. */
export class WrongQuestion extends Error {
  override readonly name = 'WrongQuestion'
}

const longest = 1000
const mostMs = 10 * 365 * 24 * 3_600_000

/**
 * Tells what `/api/messages?by=…&text=…&back=…&account=…` asks; `back` is how far to look back, in milliseconds, 7 days
 * unless given.
 * @param show whether phones may be looked for
 * @throws WrongQuestion
 */
export function questionOf(asked: URLSearchParams, show: boolean): SearchQuestion {
  const text = (asked.get('text') ?? '').trim()
  const by = asked.get('by')
  const account = asked.get('account')
  const back = Number(asked.get('back') ?? weekMs)
  if (by !== 'id' && by !== 'correlation' && by !== 'tenant' && by !== 'phone' && by !== 'failure') {
    throw new WrongQuestion('by: expected one of id, correlation, tenant, phone, failure')
  }
  if (text === '' || text.length > longest) throw new WrongQuestion('text: expected what to look for')
  if (by === 'id' && !isId(text)) {
    throw new WrongQuestion('text: expected an id, a whole number from 1 to 9223372036854775807')
  }
  if (by === 'phone' && !show) {
    throw new WrongQuestion('phones are hidden: busgate ui --show lets them be looked for')
  }
  if (by === 'phone' && !/^\d{4,15}$/.test(text))
    throw new WrongQuestion('text: expected the last 4 to 15 digits of a phone')
  if (!(back > 0 && back <= mostMs)) throw new WrongQuestion('back: expected how far to look back, in milliseconds')
  return { by, text, since: Math.max(0, Date.now() - back), ...(account !== null && { account }) }
}

const isId = (text: string) => /^\d{1,19}$/.test(text) && BigInt(text) >= 1n && BigInt(text) < 2n ** 63n

/** Tells which dead letters `/api/replay?stage=…&code=…&topic=…` is about. */
export function filtersOf(asked: URLSearchParams): LetterFilters {
  const names = ['stage', 'code', 'topic'] as const
  return Object.fromEntries(names.flatMap(name => (asked.has(name) ? [[name, asked.get(name)!]] : [])))
}
