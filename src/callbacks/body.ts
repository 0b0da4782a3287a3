import { type Buffer, isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { GrowingBuffer } from '../growing-buffer.ts'
import { callbackBody } from '../protocol/callback.ts'
import { parseJson } from '../protocol/json.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'

/** The JSON body of a callback: an object with `success`. */
export type Callback = Readonly<Record<string, unknown>>

/** Reads a body of at most `maxBytes`. `reserve` counts its memory and returns false when too much is in flight. */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  reserve: (bytes: number) => boolean,
): Promise<Buffer | CallbackRefusal> {
  return new Promise(resolve => {
    let body: GrowingBuffer | null = new GrowingBuffer(maxBytes)
    const refuse = (reason: CallbackRefusal) => {
      body = null
      resolve(reason)
    }
    request.on('data', (piece: Buffer) => {
      if (body === null) return
      const before = body.capacity
      if (!body.add(piece)) refuse('too_large')
      else if (!reserve(body.capacity - before)) refuse('overloaded')
    })
    request.on('end', () => {
      if (body !== null) resolve(body.bytes())
    })
    if (request.destroyed) resolve('aborted')
    else request.on('close', () => resolve('aborted'))
  })
}

/**
 * Resolves when the rest of a request has arrived, or more than `mostBytes` of it. Closing a connection with unread bytes
 * would reset it, and its sender would lose the answer.
 */
export function discardBody(request: IncomingMessage, mostBytes: number): Promise<void> {
  return new Promise(resolve => {
    if (request.complete || request.destroyed) {
      resolve()
      return
    }
    let left = mostBytes
    request.on('data', (piece: Buffer) => {
      left -= piece.length
      if (left < 0) resolve()
    })
    request.on('end', resolve).on('close', resolve)
  })
}

/** The body as a callback, or the reason why it can never become an event. */
export function parseCallback(bytes: Buffer): Callback | CallbackRefusal {
  if (!isUtf8(bytes)) return 'not_utf8'
  const text = bytes.toString('utf8', startsWithMark(bytes) ? 3 : 0)
  let json: unknown
  try {
    json = parseJson(text)
  } catch {
    return 'bad_json'
  }
  return callbackBody.safeParse(json).success ? (json as Callback) : 'bad_body'
}

/** Some platforms write a byte order mark before UTF-8. */
function startsWithMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}
