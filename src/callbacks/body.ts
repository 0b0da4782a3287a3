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
    const body = new GrowingBuffer(maxBytes)
    const refuse = (reason: CallbackRefusal) => {
      request.off('data', take)
      resolve(reason)
    }
    const take = (piece: Buffer) => {
      const before = body.capacity
      if (!body.add(piece)) refuse('too_large')
      else if (!reserve(body.capacity - before)) refuse('overloaded')
    }
    request.on('data', take)
    request.on('end', () => resolve(body.bytes()))
    request.on('close', () => resolve('aborted'))
    if (request.destroyed) resolve('aborted')
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

/** Removes a byte order mark, which some platforms write. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The body as a callback, or the reason why it can never become an event. */
export function parseCallback(bytes: Buffer): Callback | CallbackRefusal {
  let json: unknown
  try {
    json = parseJson(utf8.decode(bytes))
  } catch (error) {
    return error instanceof TypeError ? 'not_utf8' : 'bad_json'
  }
  return callbackBody.safeParse(json).success ? (json as Callback) : 'bad_body'
}
