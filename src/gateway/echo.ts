import { isObject, parseJson } from '../protocol/json.ts'
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

/**
 * Cuts out of the gateway's texts what they repeat of a request: the key, phones, and the contents of messages, as they were
 * sent or escaped for JSON, an address or HTML, whole or in part.
 */
export class Echo {
  readonly #request: string
  #sent: Sent | null = null
  #runs: Runs | null = null

  /** @param request an envelope as it was POSTed; it is read only when there is a text */
  constructor(request: string) {
    this.#request = request
  }

  /** An error text, shortened. */
  text(text: string): string {
    return this.#cut(text.slice(0, longestSource)).slice(0, longestText)
  }

  /** A JSON value with its texts, numbers and names. @throws RangeError when it is nested thousands of levels deep */
  readonly value = (value: unknown): unknown => {
    if (typeof value === 'string') return this.#cut(value)
    if (typeof value === 'number' || typeof value === 'bigint') {
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

  #cut(text: string): string {
    if (this.#request.length > mostSearched) return mask
    this.#sent ??= sentIn(this.#request)
    const { key, words, contents } = this.#sent
    const withoutKey = key === '' ? text : text.replaceAll(key, mask)
    const spelling = spell(withoutKey)
    const { chars } = spelling
    const isEcho = new Uint8Array(chars.length)
    if (chars.length >= run) this.#runs ??= new Runs(contents)
    for (let at = 0; at + run <= chars.length; at++) if (this.#runs!.has(chars, at)) isEcho.fill(1, at, at + run)
    for (const word of words) for (const at of placesOf(word, spelling)) isEcho.fill(1, at, at + word.length)
    return masked(withoutKey, spelling, isEcho)
  }
}

/** The content of a request, without what escaping changes. */
interface Sent {
  key: string
  /** All contents, a line each. */
  contents: string
  /** Those shorter than a run. */
  words: readonly string[]
}

function sentIn(request: string): Sent {
  const { key, contents } = contentsOf(request)
  const plain = [...new Set([key, ...contents])].map(content => plainOf(content))
  const words = plain.filter(content => content !== '' && content.length < run)
  return { key, contents: plain.join('\n'), words }
}

function contentsOf(request: string): { key: string; contents: string[] } {
  try {
    const { auth, data } = parseJson(request) as Record<string, unknown>
    const contents: string[] = []
    collect(data, '', contents)
    return { key: String(auth ?? ''), contents }
  } catch {
    return { key: '', contents: [request] } // nested thousands of levels deep
  }
}

function collect(value: unknown, name: string, contents: string[]): void {
  if (openFields.test(name) && !isObject(value)) return
  if (typeof value === 'string') contents.push(value)
  else if (name === 'phone') contents.push(String(value))
  else if (Array.isArray(value)) for (const item of value) collect(item, name, contents)
  else if (isObject(value)) for (const [key, part] of Object.entries(value)) collect(part, key, contents)
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
