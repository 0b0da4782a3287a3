import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '../back-off.ts'
import { classify, isMisplaced, matchedIds } from './classify.ts'
import { type Answer, type Connection, connectGateway, envelopeBody } from './connection.ts'
import type { GatewayError } from './errors.ts'
import { checkOptions, type GatewayClientOptions, revealKey } from './options.ts'
import { type Circumstances, type ItemResult, outcomeOf, queuedOf } from './outcome.ts'
import { type Prepared, prepareAll } from './prepare.ts'

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call: before the first byte nothing was sent; afterwards the outcome is unknown. Default: `timeoutMs` alone limits it. */
  signal?: AbortSignal
}

const defaultTimeoutMs = 30_000
const defaultConnections = 8

type PostOptions = Pick<GatewayClientOptions, 'apiKey' | 'onRequest'>

export type Transport = ReturnType<typeof openTransport>

/**
 * Validates, sends, classifies and retries envelopes.
 * @throws TypeError when an option is invalid
 */
export function openTransport(options: GatewayClientOptions) {
  checkOptions(options)
  const { url, asyncUrl, ca, keepAliveMs, maxResponseBytes, retries = 0, errorTexts } = options
  const { timeoutMs = defaultTimeoutMs, connections = defaultConnections } = options
  const shared = { ca, timeoutMs, connections, keepAliveMs, maxResponseBytes }
  const syncConnection = connectGateway({ url, ...shared })
  const asyncConnection = asyncUrl === undefined ? null : connectGateway({ url: asyncUrl, path: '', ...shared })

  return {
    /**
     * Sends the operations and returns their outcomes in order.
     * @throws GatewayError when the whole envelope failed
     */
    async deliver(operations: readonly unknown[], { signal }: CallOptions = {}): Promise<ItemResult[]> {
      const all = prepareAll(operations, options)
      const results: ItemResult[] = []
      let open = all
      const last = await withRetries(retries, signal, async attempt => {
        const { answer, circumstances } = await post(syncConnection, open, attempt, options, signal)
        const types = open.map(({ type }) => type)
        const classified = classify(matchedIds(open), answer, errorTexts)
        if (isMisplaced(classified)) syncConnection.distrust()
        const outcome = outcomeOf(types, classified, circumstances)
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
    },
    /** @throws GatewayError */
    async queue(operations: readonly unknown[], { signal }: CallOptions = {}): Promise<{ requestId: string }> {
      if (!asyncConnection) throw new TypeError('GatewayClient: sendAsync needs the option asyncUrl')
      const prepared = prepareAll(operations, options)
      const { outcome } = await withRetries(retries, signal, async attempt => {
        const { answer, circumstances } = await post(asyncConnection, prepared, attempt, options, signal)
        const outcome = queuedOf(answer, errorTexts, circumstances)
        return { outcome, errors: 'error' in outcome ? [outcome.error] : [] }
      })
      if ('error' in outcome) throw outcome.error
      return outcome
    },
    async close(): Promise<void> {
      await Promise.all([syncConnection.close(), asyncConnection?.close()])
    },
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
  return { answer, circumstances: { abortCause: thrown ?? signal?.reason } }
}

const failed = (error: GatewayError): ItemResult => ({ ok: false, error })

const firstDelayMs = 250
const longestDelayMs = 10_000
/** A longer Retry-After ends the retries; the caller decides. */
const longestRetryAfterMs = 30_000

/** Null for a success. */
type Errors = readonly (GatewayError | null)[]

/**
 * Repeats an attempt while it has retryable errors and retries are left. @returns the last attempt. An abort ends the
 * back-off at once; the next attempt then reports it.
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
 * Milliseconds until the next attempt, or null if nothing is retryable. Exponential back-off with full jitter, added to
 * Retry-After.
 */
export function delayAfter(errors: Errors, attempt: number, random = Math.random): number | null {
  const retryable = errors.filter(error => error?.retryable)
  if (retryable.length === 0) return null
  const asked = Math.max(...retryable.map(error => error?.retryAfterMs ?? 0))
  if (asked > longestRetryAfterMs) return null
  return asked + random() * backOffMs(firstDelayMs, longestDelayMs, attempt)
}
