import type { IncomingMessage } from 'node:http'
import { callbackBody } from '../protocol/callback.ts'
import { parseJson } from '../protocol/json.ts'
import type { Refusal } from './refusals.ts'

/** The body of a callback as it came: an object with `success`. */
export type Callback = Readonly<Record<string, unknown>>

/** What the headers alone tell: `too_large`, or null to go on. Senders call their JSON all kinds of things. */
export function unfitHeaders(headers: IncomingMessage['headers'], maxBytes: number): Refusal | null {
  return Number(headers['content-length'] ?? 0) > maxBytes ? 'too_large' : null
}

/** Reads a body of at most `maxBytes`. `reserve` is asked for each piece and refuses it when too much is in flight. */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  reserve: (bytes: number) => boolean,
): Promise<Buffer | Refusal> {
  return new Promise(resolve => {
    let pieces: Buffer[] | null = []
    let size = 0
    const refuse = (reason: Refusal) => {
      pieces = null
      resolve(reason)
    }
    request.on('data', (piece: Buffer) => {
      if (pieces === null) return
      size += piece.length
      if (size > maxBytes) refuse('too_large')
      else if (!reserve(piece.length)) refuse('overloaded')
      else pieces.push(piece)
    })
    request.on('end', () => {
      if (pieces !== null) resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
    })
    request.on('close', () => resolve('aborted'))
  })
}

/** How much of a refused body is still read, and how long its sender may take to read the answer. */
const LEFTOVER_BYTES = 256 * 1024
const LEFTOVER_MS = 1000

/**
 * After a refusal: a sender that is still busy sending lives to read the answer. Past `LEFTOVER_BYTES` no more is read,
 * so that whoever sends gigabytes costs nothing, and what is not complete by then is cut off.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  let left = LEFTOVER_BYTES
  const cut = setTimeout(() => request.socket.destroy(), LEFTOVER_MS)
  const keep = () => clearTimeout(cut)
  request.on('end', keep).on('close', keep)
  request.on('data', (piece: Buffer) => {
    left -= piece.length
    if (left <= 0) request.pause()
  })
}

/** The body as a callback, or why it can never become an event. */
export function parseCallback(bytes: Buffer, maxDepth: number): Callback | Refusal {
  const text = bytes.toString('utf8', startsWithMark(bytes) ? 3 : 0)
  if (!shallow(text, maxDepth)) return 'too_deep'
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

/** Looked at before parsing: nothing that walks the parsed body can then run out of stack. */
function shallow(text: string, maxDepth: number): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (inString) {
      if (char === BACKSLASH) i++
      else if (char === QUOTE) inString = false
    } else if (char === QUOTE) inString = true
    else if (char === BRACE || char === BRACKET) {
      if (++depth > maxDepth) return false
    } else if (char === END_BRACE || char === END_BRACKET) depth--
  }
  return true
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const END_BRACKET = 0x5d
const BRACE = 0x7b
const END_BRACE = 0x7d
