import { connect } from 'node:net'
import { onTestFinished, vi } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { type ReceiverOptions, startReceiver } from '../../src/callbacks/receiver.ts'
import type { TokenSubject } from '../../src/callbacks/subject.ts'
import { createHookTokens, type HookKey, type HookTokens } from '../../src/callbacks/token.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { createStatusWriter } from '../../src/records/status.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'

export const dayMs = 86_400_000
/** 2026-03-14, noon. */
export const noonMs = Date.UTC(2026, 2, 14, 12)

export function hookSubject(changes: Partial<TokenSubject> = {}): TokenSubject {
  return {
    account: 'default',
    id: 42n,
    type: 'sms',
    correlationId: 'order-7',
    tenant: 'acme',
    campaign: 'spring',
    country: 'UA',
    trace: null,
    ...changes,
  }
}

export function callback(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { success: true, id: '42', msg_id: '9001', type: 'sms', status: 'DELIVERED', ...changes }
}

export const hookKey = (kid = 'k1'): HookKey => ({ kid, secret: `secret of ${kid}, long enough to be one` })

/** Hook tokens whose clock and keys a test can change. */
export function tokenBench(keys: HookKey[] = [hookKey()]) {
  const bench = { now: noonMs, keys }
  const tokens = createHookTokens({ keys: () => bench.keys, now: () => bench.now })
  return Object.assign(bench, { tokens })
}

/** A `publish` that records its calls. While `held`, a call settles only when the test settles it. */
function recordingPublish() {
  const calls: { records: OutgoingRecord[]; resolve(): void; reject(error: Error): void }[] = []
  const recording = {
    calls,
    held: false,
    fail: null as Error | null,
    publish(records: OutgoingRecord[]): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      calls.push({ records, resolve, reject })
      if (recording.fail !== null) reject(recording.fail)
      else if (!recording.held) resolve()
      return promise
    },
    recordsOf: (topic: string) => calls.flatMap(call => call.records).filter(record => record.topic === topic),
  }
  return recording
}

/** Encodes status events as the role does, and decodes them. */
async function statusCodec() {
  const registry = embeddedRegistry()
  const encode = await createEncoder<StatusEvent>('statuses-value', schemas.status, registry)
  const decoder = createDecoder<StatusEvent>(schemas.status, registry)
  await decoder.prepare(await registry.idOf('statuses-value', schemas.status))
  const read = (value: Buffer | null) => {
    const decoded = decoder.decode(value)
    if (!decoded.ok) throw new Error('not a status event')
    return decoded.value
  }
  return { encode, read }
}

/** Time-outs that a busy machine does not reach: a test of one sets its own. */
const patience = { headersMs: 60_000, requestMs: 120_000, publishMs: 60_000 }

/** Starts a receiver on a free port. It is closed at the end of the test. */
export async function receiverBench(
  limits: ReceiverOptions['limits'] = {},
  options: Partial<Pick<ReceiverOptions, 'healthy' | 'clock' | 'port' | 'keepAliveMs' | 'keyOf'>> = {},
) {
  const bench = tokenBench()
  const bus = recordingPublish()
  const codec = await statusCodec()
  const accepted: { type: string; state: string; verified: boolean }[] = []
  const refused: string[] = []
  const reported: Events['callbacks.refused'][] = []
  const latencies: Events['delivery.latency'][] = []
  let opened = 0
  const telemetry = new Telemetry()
  telemetry.on('callback.accepted', event => accepted.push(event))
  telemetry.on('callback.refused', ({ reason }) => refused.push(reason))
  telemetry.on('callbacks.refused', report => reported.push(report))
  telemetry.on('delivery.latency', event => latencies.push(event))
  const counted: Pick<HookTokens, 'open' | 'openAccount'> = {
    open: token => {
      opened++
      return bench.tokens.open(token)
    },
    openAccount: (account, token) => {
      opened++
      return bench.tokens.openAccount(account, token)
    },
  }
  const receiver = await startReceiver({
    port: 0,
    host: '127.0.0.1',
    tokens: counted,
    statusRecord: createStatusWriter('statuses', codec.encode),
    deadLetter: (body, { code, message }) => ({
      topic: 'dead-letters',
      key: null,
      value: body,
      headers: { code, message },
    }),
    publish: bus.publish,
    telemetry,
    keyOf: () => '',
    keepAliveMs: 65_000,
    limits: { ...patience, ...limits },
    ...options,
    now: () => bench.now,
  })
  onTestFinished(() => {
    for (const call of bus.calls) call.resolve()
    return receiver.close()
  })
  const origin = `http://127.0.0.1:${receiver.port}`
  const url = (changes: Partial<TokenSubject> = {}) => `${origin}/hooks/${bench.tokens.issue(hookSubject(changes))}`
  const accountUrl = (account: string) => `${origin}/hooks/account/${account}/${bench.tokens.issueAccount(account)}`
  const events = () => bus.recordsOf('statuses').map(({ value }) => codec.read(value))
  const seen = { accepted, refused, reported, latencies, events, opened: () => opened }
  return Object.assign(bench, seen, { bus, receiver, telemetry, origin, url, accountUrl })
}

/** POSTs a callback as the gateway does. A string becomes the body unchanged. */
export function post(url: string, body: unknown = callback(), headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Opens a socket on which a test may write anything, valid HTTP or not. `received` is all that came back. */
export function rawConnection(port: number) {
  const socket = connect({ port, host: '127.0.0.1' })
  const raw = { socket, received: '', closed: false, write: (text: string) => socket.write(text) }
  socket.on('data', piece => {
    raw.received += piece.toString('latin1')
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    raw.closed = true
  })
  onTestFinished(() => {
    socket.destroy()
  })
  return raw
}

/** The request line and headers of a POST, for `rawConnection`. */
export function postHead(url: string, ...headers: string[]): string {
  const lines = [
    `POST ${new URL(url).pathname} HTTP/1.1`,
    'Host: busgate',
    'Content-Type: application/json',
    ...headers,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** A POST with its body, for `rawConnection`. */
export function wholePost(url: string, ...headers: string[]): string {
  const body = JSON.stringify(callback())
  return postHead(url, `Content-Length: ${body.length}`, ...headers) + body
}

/** Retries an assertion for up to 20 s: a busy machine is slow. */
export const eventually = (holds: () => unknown) => vi.waitFor(holds, { interval: 5, timeout: 60_000 })
