import type { IncomingMessage, ServerResponse } from 'node:http'
import { GrowingBuffer } from '../growing-buffer.ts'
import type { HttpReply, RequestEnd } from './answers.ts'
import type { Timers } from './clock.ts'

/** Maximum of `gateway.maxBytes`. */
const longestEnvelopeBytes = 64 * 1024 * 1024
const dripPieces = 10
const dripPauseMs = 100

/** Calls `done` with the body; closes the connection if the body exceeds any valid envelope. */
export function whenRead(request: IncomingMessage, done: (text: string) => void): void {
  const body = new GrowingBuffer(longestEnvelopeBytes)
  request.on('data', (chunk: Buffer) => {
    if (!body.add(chunk)) request.destroy()
  })
  request.on('end', () => done(body.bytes().toString()))
}

export function sendAnswer(response: ServerResponse, answer: RequestEnd, timers: Timers): void {
  if (answer.end === 'reset') response.socket?.resetAndDestroy()
  if (answer.end === 'reply' && answer.dripping) drip(response, answer, timers)
  else if (answer.end === 'reply') sendReply(response, answer)
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const headers = { 'Content-Type': 'application/json' }
  sendReply(response, { end: 'reply', status, headers, body: `${JSON.stringify(value, null, 2)}\n` })
}

function sendReply(response: ServerResponse, { status, headers, body }: HttpReply): void {
  writeHead(response, status, headers, Buffer.byteLength(body))
  response.end(body)
}

function writeHead(response: ServerResponse, status: number, headers: Record<string, string>, length: number): void {
  response.writeHead(status, { ...headers, 'Content-Length': length })
}

function drip(response: ServerResponse, { status, headers, body }: HttpReply, timers: Timers): void {
  const bytes = Buffer.from(body)
  const size = Math.ceil(bytes.length / dripPieces)
  const next = (offset: number): void => {
    response.write(bytes.subarray(offset, offset + size))
    if (offset + size < bytes.length) timers.after(dripPauseMs, () => next(offset + size))
    else response.end()
  }
  writeHead(response, status, headers, bytes.length)
  next(0)
}
