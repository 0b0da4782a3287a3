/** What escaping adds or changes, and what people put into phone numbers. */
const ignored = /[\s\p{Cc}+\\"'/%&;#<>().-]/u
const everyIgnored = new RegExp(ignored, 'gu')

/** `plainOf` a text, with the place in the text of each character. */
export interface Spelling {
  chars: string
  /** The character before and after it, ignored ones included. */
  before: string[]
  after: string[]
  starts: number[]
  ends: number[]
}

export function spell(text: string): Spelling {
  const all = units(text)
  const left: Spelling = { chars: '', before: [], after: [], starts: [], ends: [] }
  for (let at = 0; at < all.chars.length; at++) {
    if (ignored.test(all.chars[at]!)) continue
    left.chars += all.chars[at]
    left.before.push(all.chars[at - 1] ?? '')
    left.after.push(all.chars[at + 1] ?? '')
    left.starts.push(all.starts[at]!)
    left.ends.push(all.ends[at]!)
  }
  return left
}

type Units = Pick<Spelling, 'chars' | 'starts' | 'ends'>

/** A text may be escaped more than once: JSON in JSON, or in an address. */
const mostLayers = 4
const escapeStart = /[\\%&]/
const escapes =
  /\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[^ux]|(?:%[0-9a-f]{2})+|&(?:#x[0-9a-f]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos|nbsp);/gis

/** A text without escapes and ignored characters: the same for all spellings of a text. */
export function plainOf(text: string): string {
  let plain = text
  for (let layer = 0; layer < mostLayers && escapeStart.test(plain); layer++) {
    plain = plain.replaceAll(escapes, unescaped)
  }
  return plain.replaceAll(everyIgnored, '')
}

/** A text without escapes, with the place of each character. */
function units(text: string): Units {
  const starts = Array.from(text.split(''), (_, at) => at)
  let all: Units = { chars: text, starts, ends: starts.map(at => at + 1) }
  for (let layer = 0; layer < mostLayers && escapeStart.test(all.chars); layer++) all = decodeOnce(all)
  return all
}

function decodeOnce({ chars, starts, ends }: Units): Units {
  const plain: Units = { chars: '', starts: [], ends: [] }
  let at = 0
  const copyTo = (end: number) => {
    plain.chars += chars.slice(at, end)
    for (; at < end; at++) {
      plain.starts.push(starts[at]!)
      plain.ends.push(ends[at]!)
    }
  }
  for (const { 0: code, index } of chars.matchAll(escapes)) {
    copyTo(index)
    at = index + code.length
    const text = unescaped(code)
    plain.chars += text
    for (let i = 0; i < text.length; i++) {
      plain.starts.push(starts[index]!)
      plain.ends.push(ends[at - 1]!)
    }
  }
  copyTo(chars.length)
  return plain
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

function unescaped(code: string): string {
  if (code[0] === '%') return Buffer.from(code.replaceAll('%', ''), 'hex').toString()
  if (code[0] === '&') return code[1] === '#' ? character(code.slice(2, -1)) : named[code.slice(1, -1).toLowerCase()]!
  if (/^\\[ux]./is.test(code)) return String.fromCharCode(Number.parseInt(code.slice(2), 16))
  return /[bfnrt]/.test(code[1]!) ? ' ' : code[1]!
}

function character(code: string): string {
  const number = /^x/i.test(code) ? Number.parseInt(code.slice(1), 16) : Number(code)
  return number <= 0x10ffff ? String.fromCodePoint(number) : ''
}
