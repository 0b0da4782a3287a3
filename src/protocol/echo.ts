import { isObject, parseJson } from './json.ts'
import { plainOf, type Spelling, spell } from './spelling.ts'

/** Characters that a text of the gateway and a request must have in common, one after the other, to count as an echo. */
const run = 8
const mask = '***'
/** Characters of an error text: those that are read, and those that are kept. */
const longestSource = 4096
const longestText = 1024
/** A request with more characters is not searched: each text of its answer is withheld. */
const mostSearched = 1 << 20

/** Fields that name a kind of message or its sender; an error is useless without them. */
const openFields = /(?:^|_)(?:type|signature)$|^pipeline$|^id$/

/** The name of a property, not a phone or a text. */
const plainName = /^[A-Za-z_]{1,32}$/

/** Fields in which a report names a phone. */
const phoneFields = /(?:^|_)(?:phone|msisdn|recipient)$/i
/** Fewer digits are no phone. */
const leastDigits = 7
/** Smaller numbers have fewer digits than any one-time password. */
const leastCode = 1000

/** Whether a number of an answer can be one of the request that must not be repeated. */
export const mayRepeat = (number: number | bigint): boolean => !(-leastCode < number && number < leastCode)

/**
 * Cuts out of the gateway's texts what must not be repeated: keys, phones, and the contents of messages, as they were sent or
 * escaped for JSON, an address or HTML, whole or in part.
 */
export class Echo {
  readonly #key: string
  /** Null if there is too much to search for. */
  readonly #contents: () => readonly string[] | null
  #found: Search | null | undefined

  private constructor(key: string, contents: () => readonly string[] | null) {
    this.#key = key
    this.#contents = contents
  }

  /** What an answer repeats of its request. @param request an envelope as it was POSTed; it is read only when there is a text */
  static of(request: string): Echo {
    return new Echo(keyIn(request), () => (request.length > mostSearched ? null : contentsIn(request)))
  }

  /**
   * What a report about a message repeats of the command, which is not known here: the account's key, and phones that the
   * report names.
   * @param report a callback, or the answer to a status poll
   * @param key empty if it is not known either
   */
  static in(report: unknown, key: string): Echo {
    return new Echo(key, () => phonesIn(report))
  }

  /** An error text, shortened. */
  text(text: string): string {
    return this.#cut(text.slice(0, longestSource)).slice(0, longestText)
  }

  /** A JSON value with its texts, numbers and names. @throws RangeError when it is nested thousands of levels deep */
  readonly value = (value: unknown): unknown => {
    if (typeof value === 'string') return this.#cut(value)
    if (typeof value === 'number' || typeof value === 'bigint') {
      if (!mayRepeat(value)) return value
      const text = String(value)
      return this.#cut(text) === text ? value : mask
    }
    if (Array.isArray(value)) return value.map(item => this.value(item))
    if (!isObject(value)) return value
    const parts = Object.entries(value)
    return Object.fromEntries(
      parts.map(([name, part]) => [plainName.test(name) ? name : this.#cut(name), this.value(part)]),
    )
  }

  /** An identifier: may have anything in common with a message, but contains no key. */
  readonly id = (id: string | null): string | null => {
    return id === null ? null : this.#withoutKey(id)
  }

  #withoutKey(text: string): string {
    return this.#key === '' ? text : text.replaceAll(this.#key, mask)
  }

  get #search(): Search | null {
    if (this.#found === undefined) {
      const contents = this.#contents()
      this.#found = contents && searchFor([this.#key, ...contents])
    }
    return this.#found
  }

  #cut(text: string): string {
    const search = this.#search
    if (search === null) return mask
    if (text.length < search.shortest) return text
    const withoutKey = this.#withoutKey(text)
    if (!isIn(plainOf(withoutKey), search)) return withoutKey
    const spelling = spell(withoutKey)
    const { chars } = spelling
    const isEcho = new Uint8Array(chars.length)
    for (let at = 0; at + run <= chars.length; at++) if (search.runs.has(chars, at)) isEcho.fill(1, at, at + run)
    for (const word of search.words) for (const at of placesOf(word, spelling)) isEcho.fill(1, at, at + word.length)
    return masked(withoutKey, spelling, isEcho)
  }
}

/** What to search for, without what escaping changes. */
interface Search {
  runs: Runs
  /** Contents that are shorter than a run. */
  words: readonly string[]
  /** Characters of the shortest text that can repeat something. */
  shortest: number
}

/** Whether a text repeats something, or a part of a longer word reads so. */
function isIn(plain: string, { runs, words }: Search): boolean {
  if (words.some(word => plain.includes(word))) return true
  for (let at = 0; at + run <= plain.length; at++) if (runs.has(plain, at)) return true
  return false
}

function searchFor(contents: readonly string[]): Search {
  const plain = [...new Set(contents)].map(content => plainOf(content)).filter(content => content !== '')
  const words = plain.filter(content => content.length < run)
  const shortest = Math.min(...plain.map(content => Math.min(run, content.length)))
  return { runs: new Runs(plain.join('\n')), words, shortest }
}

/** The key at the beginning of an envelope. */
function keyIn(envelope: string): string {
  const [, key] = /^\{"auth":("(?:[^"\\]|\\.)*")/s.exec(envelope) ?? []
  return key === undefined ? '' : JSON.parse(key)
}

function contentsIn(request: string): string[] {
  try {
    const { data } = parseJson(request) as Record<string, unknown>
    const contents: string[] = []
    collect(data, '', contents)
    return contents
  } catch {
    return [request] // nested thousands of levels deep
  }
}

function collect(value: unknown, name: string, contents: string[]): void {
  if (openFields.test(name) && !isObject(value)) return
  if (typeof value === 'string') contents.push(value)
  else if (name === 'phone') contents.push(String(value))
  else if (Array.isArray(value)) for (const item of value) collect(item, name, contents)
  else if (isObject(value)) for (const [key, part] of Object.entries(value)) collect(part, key, contents)
}

function phonesIn(report: unknown): string[] {
  const queue: [name: string, value: unknown][] = [['', report]]
  const phones: string[] = []
  for (const [name, value] of queue) {
    if (Array.isArray(value)) for (const item of value) queue.push([name, item])
    else if (isObject(value)) for (const part of Object.entries(value)) queue.push(part)
    else if (phoneFields.test(name) && String(value).replaceAll(/\D/g, '').length >= leastDigits)
      phones.push(String(value))
  }
  return phones
}

/** All runs of a text, in a hash table with open addressing. */
class Runs {
  readonly #text: string
  /** The place of a run's first character, counted from 1; 0 is empty. */
  readonly #places: Int32Array

  constructor(text: string) {
    this.#text = text
    this.#places = new Int32Array(2 ** Math.ceil(Math.log2(2 * text.length + 2)))
    for (let at = 0; at + run <= text.length; at++) {
      const slot = this.#slotOf(text, at)
      if (this.#places[slot] === 0) this.#places[slot] = at + 1
    }
  }

  has(text: string, at: number): boolean {
    return this.#places[this.#slotOf(text, at)] !== 0
  }

  /** The slot of this run, or the empty one where it would be. */
  #slotOf(text: string, at: number): number {
    const places = this.#places
    const last = places.length - 1
    let hash = 0
    for (let i = at; i < at + run; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x9e3779b1)
    let slot = (hash ^ (hash >>> 15)) & last
    while (places[slot] !== 0 && !isSameRun(this.#text, places[slot]! - 1, text, at)) slot = (slot + 1) & last
    return slot
  }
}

function isSameRun(one: string, at: number, other: string, otherAt: number): boolean {
  for (let i = 0; i < run; i++) if (one.charCodeAt(at + i) !== other.charCodeAt(otherAt + i)) return false
  return true
}

const letter = /[\p{L}\p{N}]/u

/** Where a short content stands alone, not inside of a longer word. */
function* placesOf(word: string, { chars, before, after }: Spelling): Iterable<number> {
  for (let at = chars.indexOf(word); at >= 0; at = chars.indexOf(word, at + 1)) {
    const end = at + word.length - 1
    if (!(letter.test(before[at]!) || letter.test(after[end]!))) yield at
  }
}

function masked(text: string, { starts, ends }: Spelling, isEcho: Uint8Array): string {
  let result = ''
  let copied = 0
  for (let at = isEcho.indexOf(1); at >= 0; at = isEcho.indexOf(1, at)) {
    const next = isEcho.indexOf(0, at)
    const end = next < 0 ? isEcho.length : next
    result += text.slice(copied, starts[at]) + mask
    copied = ends[end - 1]!
    at = end
  }
  return result + text.slice(copied)
}
