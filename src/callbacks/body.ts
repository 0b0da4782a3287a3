import { Buffer, isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { callbackBody } from '../protocol/callback.ts'
import { parseJson } from '../protocol/json.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'

/** The body of a callback as it came: an object with `success`. */
export type Callback = Readonly<Record<string, unknown>>

/** Refuses a body by its headers alone: `too_large`, or null to go on. Senders call their JSON all kinds of things. */
export function unfitHeaders(headers: IncomingMessage['headers'], maxBytes: number): CallbackRefusal | null {
  return Number(headers['content-length'] ?? 0) > maxBytes ? 'too_large' : null
}

/**
 * Reads a body of at most `maxBytes`. `reserve` is asked before memory is taken for it and refuses when too much is in
 * flight. The pieces are copied together as they come: kept apart, a body that is sent byte by byte takes 250 times its size.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  reserve: (bytes: number) => boolean,
): Promise<Buffer | CallbackRefusal> {
  return new Promise(resolve => {
    let body: Buffer | null = nothing
    let size = 0
    const refuse = (reason: CallbackRefusal) => {
      body = null
      resolve(reason)
    }
    request.on('data', (piece: Buffer) => {
      if (body === null) return
      if (size + piece.length > maxBytes) {
        refuse('too_large')
        return
      }
      if (body === nothing && isSmall(piece) && reserve(piece.buffer.byteLength)) {
        body = piece
        size = piece.length
        return
      }
      if (size + piece.length > body.length) {
        const room = Math.min(maxBytes, Math.max(size + piece.length, 2 * body.length, leastRoom))
        if (!reserve(room - body.length)) {
          refuse('overloaded')
          return
        }
        const grown = Buffer.allocUnsafeSlow(room) // a share of Node's pool would keep all of its 64 KiB
        body.copy(grown, 0, 0, size)
        body = grown
      }
      size += piece.copy(body, size)
    })
    request.on('end', () => {
      if (body !== null) resolve(body.subarray(0, size))
    })
    if (request.destroyed) resolve('aborted')
    else request.on('close', () => resolve('aborted'))
  })
}

const nothing = Buffer.alloc(0)
const leastRoom = 1024
const smallRead = 4096

/** Tells whether a piece keeps little memory: most bodies come whole, in one read with their head, and need no copy. */
const isSmall = ({ buffer }: Buffer): boolean => buffer.byteLength <= smallRead

/**
 * Tells whether more is to come of a refused request than is worth the while to read: its connection ends with the
 * answer.
 */
export function isEndless({ complete, headers }: IncomingMessage, maxBytes: number): boolean {
  return !complete && !(Number(headers['content-length']) <= maxBytes)
}

/** The body as a callback, or why it can never become an event. */
export function parseCallback(bytes: Buffer, maxDepth: number): Callback | CallbackRefusal {
  if (!isUtf8(bytes)) return 'not_utf8'
  const text = bytes.toString('utf8', startsWithMark(bytes) ? 3 : 0)
  const flaw = flawOf(text, maxDepth)
  if (flaw !== null) return flaw
  let json: unknown
  try {
    json = parseJson(text)
  } catch {
    return 'bad_json'
  }
  return callbackBody.safeParse(json).success ? (json as Callback) : 'bad_body'
}

/** Some platforms write a byte order mark in front of UTF-8. */
function startsWithMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/**
 * Finds what JSON.parse passes over. Depth is looked at before parsing, so that nothing that walks the parsed body can run out of
 * stack. Of a name that stands twice in one object, another reader on the way may have taken the other value.
 */
function flawOf(text: string, maxDepth: number): 'too_deep' | 'duplicate_name' | null {
  /** The names of each object that is open, innermost last; null for a list. */
  const open: (Set<string> | null)[] = []
  let isName = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === quoteMark) {
      const end = endOfString(text, i)
      const names = open.at(-1)
      if (isName && names) {
        const name = unescaped(text.slice(i, end + 1))
        if (names.has(name)) return 'duplicate_name'
        names.add(name)
      }
      isName = false
      i = end
    } else if (char === brace || char === bracket) {
      if (open.length === maxDepth) return 'too_deep'
      open.push(char === brace ? new Set() : null)
      isName = char === brace
    } else if (char === endBrace || char === endBracket) {
      open.pop()
      isName = false
    } else if (char === comma) isName = open.at(-1) instanceof Set
  }
  return null
}

/** Tells where the string that begins here has its second quote; the text's length where it has none. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== quoteMark) at += text.charCodeAt(at) === backslash ? 2 : 1
  return Math.min(at, text.length)
}

/** A name as it is meant: `\u0069d` is `id`. What is no string is refused later. */
function unescaped(quoted: string): string {
  if (!quoted.includes('\\')) return quoted
  try {
    return JSON.stringify(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

const quoteMark = 0x22
const comma = 0x2c
const backslash = 0x5c
const bracket = 0x5b
const endBracket = 0x5d
const brace = 0x7b
const endBrace = 0x7d
