import { setTimeout as sleep } from 'node:timers/promises'
import { classify } from './classify.ts'
import { type Answer, type Connection, connectGateway, envelopeBody } from './connection.ts'
import type { GatewayError } from './errors.ts'
import { checkOptions, type GatewayClientOptions, revealKey } from './options.ts'
import { type Circumstances, type ItemResult, outcomeOf, queuedOf } from './outcome.ts'
import { type Prepared, prepareAll } from './prepare.ts'

/** Options of a single call. */
export interface CallOptions {
  /** Gives the call up: before the first byte nothing was sent, afterwards nobody can tell. */
  signal?: AbortSignal
}

const defaultTimeoutMs = 30_000
const defaultConnections = 8
const longestErrorText = 1024

type PostOptions = Pick<GatewayClientOptions, 'apiKey' | 'onRequest'>

/** Envelopes on their way to the gateway and back: checked, posted, classified, retried where that is asked for. */
export class Transport {
  readonly #options: GatewayClientOptions
  readonly #connection: Connection
  readonly #asyncConnection: Connection | null

  /** @throws TypeError when an option cannot be used. */
  constructor(options: GatewayClientOptions) {
    checkOptions(options)
    this.#options = options
    const { url, asyncUrl, ca, keepAliveMs, maxResponseBytes } = options
    const { timeoutMs = defaultTimeoutMs, connections = defaultConnections } = options
    const shared = { ca, timeoutMs, connections, keepAliveMs, maxResponseBytes }
    this.#connection = connectGateway({ url, ...shared })
    this.#asyncConnection = asyncUrl === undefined ? null : connectGateway({ url: asyncUrl, path: '', ...shared })
  }

  /**
   * Sends the operations, and answers what became of each, in their order.
   * @throws GatewayError when the envelope failed as a whole and no operation has an outcome of its own.
   */
  async deliver(operations: readonly unknown[], { signal }: CallOptions = {}): Promise<ItemResult[]> {
    const { retries = 0, errorTexts } = this.#options
    const all = prepareAll(operations)
    const results: ItemResult[] = []
    let open = all
    const last = await withRetries(retries, signal, async attempt => {
      const { answer, circumstances } = await post(this.#connection, open, attempt, this.#options, signal)
      const ids = open.map(({ id }) => id)
      const types = open.map(({ type }) => type)
      const outcome = outcomeOf(types, classify(ids, answer, errorTexts), circumstances)
      const failure = 'error' in outcome ? outcome.error : null
      const latest = 'error' in outcome ? open.map(() => failed(outcome.error)) : outcome.results
      const errors = latest.map(result => (result.ok ? null : result.error))
      for (const [i, { index }] of open.entries()) results[index] = latest[i]!
      const whole = open.length === all.length
      open = open.filter((_, i) => errors[i]?.retryable)
      return { errors, failure: whole ? failure : null }
    })
    if (last.failure) throw last.failure
    return results
  }

  /** @throws GatewayError */
  async queue(operations: readonly unknown[], { signal }: CallOptions = {}): Promise<{ requestId: string }> {
    const connection = this.#asyncConnection
    if (!connection) throw new TypeError('GatewayClient: sendAsync needs the option asyncUrl')
    const { retries = 0, errorTexts = {} } = this.#options
    const prepared = prepareAll(operations)
    const { outcome } = await withRetries(retries, signal, async attempt => {
      const { answer, circumstances } = await post(connection, prepared, attempt, this.#options, signal)
      const outcome = queuedOf(answer, errorTexts, circumstances)
      return { outcome, errors: 'error' in outcome ? [outcome.error] : [] }
    })
    if ('error' in outcome) throw outcome.error
    return outcome
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#asyncConnection?.close()])
  }
}

async function post(
  connection: Connection,
  prepared: readonly Prepared[],
  attempt: number,
  { apiKey, onRequest }: PostOptions,
  signal: AbortSignal | undefined,
): Promise<{ answer: Answer; circumstances: Circumstances }> {
  const key = revealKey(apiKey)
  const clean = (text: string) => text.replaceAll(key, '***').slice(0, longestErrorText)
  let thrown: unknown
  const lastCheck = () => {
    try {
      onRequest?.({ types: prepared.map(({ type }) => type), attempt })
      return null
    } catch (error) {
      thrown = error
      return 'onRequest threw'
    }
  }
  const body = envelopeBody(
    key,
    prepared.map(({ json }) => json),
  )
  const answer = await connection.post(body, lastCheck, signal)
  return { answer, circumstances: { abortCause: thrown ?? signal?.reason, clean } }
}

const failed = (error: GatewayError): ItemResult => ({ ok: false, error })

const firstDelayMs = 250
const longestDelayMs = 10_000
/** Whoever asks for a longer pause gets no further attempt: the caller decides. */
const longestRetryAfterMs = 30_000

/** Null stands for what went well. */
type Errors = readonly (GatewayError | null)[]

/**
 * Repeats an attempt while one of the errors it met is retryable and attempts are left, and answers what the last one
 * did. An abort ends the pause at once; what it means is the next attempt's to tell.
 */
export async function withRetries<A extends { errors: Errors }>(
  retries: number,
  signal: AbortSignal | undefined,
  attempt: (number: number) => Promise<A>,
): Promise<A> {
  for (let number = 1; ; number++) {
    const latest = await attempt(number)
    const delay = delayAfter(latest.errors, number)
    if (delay === null || number > retries) return latest
    await sleep(delay, undefined, { signal }).catch(() => {})
  }
}

/**
 * Milliseconds until the next attempt, or null when there is nothing to be tried again. Doubles with each attempt, any
 * part of it by chance, so that clients that failed together do not come back together; what Retry-After asks for is
 * added.
 */
export function delayAfter(errors: Errors, attempt: number, random = Math.random): number | null {
  const retryable = errors.filter(error => error?.retryable)
  if (retryable.length === 0) return null
  const asked = Math.max(...retryable.map(error => error?.retryAfterMs ?? 0))
  if (asked > longestRetryAfterMs) return null
  return asked + random() * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1))
}
