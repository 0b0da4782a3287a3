import type { Dispatcher } from 'undici'
import { GrowingBuffer } from '../growing-buffer.ts'
import { apiPath } from '../protocol/envelope.ts'
import { decodeBody } from './decoding.ts'
import { type Authorities, openPool } from './origin-pool.ts'

export interface ConnectionOptions {
  /** `{base_url}` of the gateway. */
  url: string
  /** Path below `url`. Default: the specification's only endpoint. */
  path?: string
  /** Time-out from `post` to the last byte of the answer. */
  timeoutMs: number
  /** Most requests in flight; each has its own connection. */
  connections: number
  /** Idle time-out of a connection; default 500. */
  keepAliveMs: number | undefined
  /** Age at which a connection is replaced; default 10,000. */
  maxAgeMs?: number | undefined
  /** Default 4 MiB. */
  maxResponseBytes: number | undefined
  /** Certificate authorities to trust instead of Node's. */
  ca: Authorities | undefined
}

/** Called right before the first byte: null lets the request begin, a reason withholds it. */
export type LastCheck = () => string | null

export interface Connection {
  /** Sends one POST of an envelope. Never retries, never follows redirects, never rejects. */
  post(body: string, lastCheck: LastCheck, signal?: AbortSignal): Promise<Answer>
  /**
   * Sends nothing more over the connections that are open now. For an answer that belongs to another request: on its
   * connection, each further request would get the answer to the one before.
   */
  distrust(): void
  close(): Promise<void>
}

/** 100 answers with texts take some 30 KB. */
const defaultMaxResponseBytes = 4 << 20
/** Bound of Retry-After; a timer cannot hold more than 24 days. */
const longestRetryAfterMs = 3_600_000

/** Opens connections to one endpoint of the gateway. */
export function connectGateway(options: ConnectionOptions): Connection {
  const base = new URL(options.url)
  const path = `${base.pathname.replace(/\/$/, '')}${options.path ?? apiPath}${base.search}` || '/'
  const { connections, keepAliveMs, maxAgeMs, ca } = options
  const { dispatcher, renew, close } = openPool({ origin: base.origin, connections, keepAliveMs, maxAgeMs, ca })
  return {
    post: (body, lastCheck, signal) =>
      new Promise(resolve => {
        const handler = postHandler(options, body, lastCheck, resolve, signal)
        const headers = {
          'content-type': 'application/json',
          accept: 'application/json',
          'accept-encoding': 'identity',
        }
        dispatcher().dispatch({ origin: base.origin, path, method: 'POST', headers, body }, handler)
      }),
    distrust: renew,
    close,
  }
}

/**
 * Handles one request. undici calls onRequestStart right before it writes: until then nothing was sent; afterwards the
 * outcome is unknown until the whole answer has arrived.
 */
function postHandler(
  { timeoutMs, maxResponseBytes = defaultMaxResponseBytes }: ConnectionOptions,
  request: string,
  lastCheck: LastCheck,
  resolve: (answer: Answer) => void,
  signal: AbortSignal | undefined,
): Dispatcher.DispatchHandler {
  const body = new GrowingBuffer(maxResponseBytes)
  let head: ResponseHead = { status: 0, headers: {} }
  let started: Dispatcher.DispatchController | null = null
  let isDone = false

  function finish(answer: Answer): void {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    resolve(answer)
  }

  function fail(ifNotStarted: NotSentCause, ifStarted: LostCause, message: string): void {
    finish(started ? { kind: 'lost', cause: ifStarted, message } : { kind: 'not_sent', cause: ifNotStarted, message })
  }

  function giveUp(ifNotStarted: NotSentCause, ifStarted: LostCause, message: string): void {
    fail(ifNotStarted, ifStarted, message)
    started?.abort(new Error(message))
  }

  const abort = () => giveUp('withheld', 'aborted', 'aborted by the caller')
  const timer = setTimeout(() => giveUp('timeout', 'timeout', `no answer within ${timeoutMs} ms`), timeoutMs)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()

  return {
    onRequestStart(controller) {
      const reason = isDone ? 'given up' : lastCheck()
      if (reason === null) {
        started = controller
        return
      }
      finish({ kind: 'not_sent', cause: 'withheld', message: reason }) // before the abort, which comes back as an error
      controller.abort(new Error(reason))
    },
    onResponseStart(_controller, status, headers) {
      head = { status, headers }
    },
    onResponseData(controller, chunk) {
      if (body.add(chunk)) return
      finish(tooLarge(maxResponseBytes))
      controller.abort(new Error('answer too large'))
    },
    onResponseEnd() {
      finish(readAnswer(request, head, body.bytes(), maxResponseBytes))
    },
    onResponseError(_controller, error) {
      fail('unreachable', head.status > 0 ? 'response_cut' : 'reset', describe(error))
    },
  }
}

/** The boundary around an answer: one that our code fails on is as good as none. */
function readAnswer(...answer: Parameters<typeof answerOf>): Answer {
  try {
    return answerOf(...answer)
  } catch {
    return { kind: 'lost', cause: 'response_cut', message: 'the answer cannot be read' }
  }
}

function answerOf(request: string, { status, headers }: ResponseHead, bytes: Buffer, maxBytes: number): Answer {
  const { location, 'content-type': type, 'content-encoding': encoding } = headers
  const decoded = decodeBody(bytes, headerText(encoding), headerText(type), maxBytes)
  if ('trouble' in decoded) {
    if (decoded.trouble === 'too_large') return tooLarge(maxBytes)
    return { kind: 'lost', cause: 'response_cut', message: 'the answer cannot be decompressed' }
  }
  const retryAfterMs = retryAfter(headers)
  const answer = { kind: 'response', request, status, body: decoded.text, retryAfterMs } as const
  return location ? { ...answer, location: hostOf(headerText(location)) } : answer
}

function tooLarge(maxBytes: number): Answer {
  return { kind: 'lost', cause: 'response_too_large', message: `the answer is longer than ${maxBytes} bytes` }
}

interface ResponseHead {
  status: number
  headers: ResponseHeaders
}

type ResponseHeaders = Record<string, string | string[] | undefined>

const headerText = (header: string | string[] | undefined): string => String(header ?? '')

/** The origin only: user, path and query may contain a secret or the request's content. */
function hostOf(location: string): string {
  return URL.parse(location)?.origin ?? 'another path'
}

/** The system's error code and message; neither contains anything of the request. */
function describe({ code, message }: Error & { code?: string }): string {
  return code && !message.includes(code) ? `${code}: ${message}` : message
}

/**
 * Retry-After: seconds, or a date relative to the answer's own Date (RFC 9110, 10.2.3). The test for letters is needed
 * because Date.parse reads "-3" as a month.
 */
function retryAfter({ 'retry-after': value, date }: ResponseHeaders): number | null {
  if (typeof value !== 'string') return null
  const answeredAt = Date.parse(String(date)) || Date.now()
  const ms = /[a-z]/i.test(value) ? Date.parse(value) - answeredAt : /^\d+$/.test(value) ? Number(value) * 1000 : NaN
  return Number.isNaN(ms) ? null : Math.min(longestRetryAfterMs, Math.max(0, ms))
}

/** The raw result of one POST. */
export type Answer =
  /** `request`: the body that was POSTed. `location`: origin of a redirect. */
  | { kind: 'response'; request: string; status: number; body: string; retryAfterMs: number | null; location?: string }
  /** Writing had not begun: nothing was sent. */
  | { kind: 'not_sent'; cause: NotSentCause; message: string }
  /** Writing had begun: perhaps sent. */
  | { kind: 'lost'; cause: LostCause; message: string }

/** `withheld`: by the caller's last check or its abort. */
export type NotSentCause = 'unreachable' | 'timeout' | 'withheld'
export type LostCause = 'timeout' | 'aborted' | 'reset' | 'response_too_large' | 'response_cut'

/** Builds an envelope from operations that are JSON text already. */
export function envelopeBody(apiKey: string, operations: readonly string[]): string {
  const texts = [...operations]
  texts[0] = `{"auth":${JSON.stringify(apiKey)},"data":[${texts[0] ?? ''}`
  texts[texts.length - 1] += ']}'
  return texts.join(',') // a template literal would copy the whole text once more
}

const emptyEnvelope = envelopeBody('', []).length - JSON.stringify('').length

/** Bytes of an envelope without its operations and commas. */
export function envelopeOverhead(apiKey: string): number {
  return emptyEnvelope + Buffer.byteLength(JSON.stringify(apiKey))
}
