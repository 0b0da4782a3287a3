import { apiPath, endsWithApiPath } from '../protocol/envelope.ts'
import type { OperationType } from '../protocol/index.ts'
import type { ErrorCode } from '../vocabulary/lists.ts'
import type { Authorities } from './origin-pool.ts'

interface RevealableKey {
  reveal(): string
}

/** An API key, or a source that is read for each request so that the key can change. */
export type ApiKey = string | (() => string) | RevealableKey

/** A request that is about to be written. */
export interface RequestInfo {
  /** Types of the operations, in the order of the envelope. */
  types: readonly OperationType[]
  /** 1, 2, … */
  attempt: number
}

/** The gateway, the account and the limits of a `GatewayClient`. */
export interface GatewayClientOptions {
  /** `{base_url}` of the gateway, without a query. HTTPS_PROXY and NO_PROXY apply to https. */
  url: string
  /** The account's API key. Never appears in errors or in printed output. */
  apiKey: ApiKey
  /** Certificate authorities in PEM to trust; an object is read for each request. Default: those of Node.js. */
  ca?: Authorities | undefined
  /** Full URL of the asynchronous interface, path included. Default: none; only sendAsync needs it. */
  asyncUrl?: string | undefined
  /** Milliseconds per attempt, including the wait for a free connection. Default 30,000. */
  timeoutMs?: number
  /** Most requests in flight; further ones wait. Default 8. */
  connections?: number
  /**
   * Milliseconds that an idle connection is kept; the gateway's Keep-Alive header can shorten it. Set it below the gateway's
   * idle time-out. Default 500.
   */
  keepAliveMs?: number
  /** Number of retries for operations that were certainly not sent. Default 0. */
  retries?: number
  /** Most bytes of an answer; the operations of a longer answer are in doubt. Default 4 MiB. */
  maxResponseBytes?: number
  /** Error codes for refusal texts that busgate does not know, by text. Default: none; such a text is REJECTED. */
  errorTexts?: Readonly<Record<string, ErrorCode>>
  /** Whether a message without any text, image, link or carousel may be sent. Default false. */
  allowEmpty?: boolean
  /** Called right before the first byte of each attempt; if it throws, nothing is sent. Default: nothing is called. */
  onRequest?: (request: RequestInfo) => void
}

const longestTimeoutMs = 2 ** 31 - 1

/** @throws TypeError that names the option and its constraint */
export function checkOptions(options: GatewayClientOptions): void {
  const { url, asyncUrl, apiKey, ca, timeoutMs, connections, keepAliveMs, retries, maxResponseBytes } = options
  check('url', isHttpUrl(url) && !/[?#]/.test(url), `the http or https address of the gateway, ${alone}`)
  check('url', !endsWithApiPath(url), `without ${apiPath}, which is appended`)
  check('asyncUrl', asyncUrl === undefined || isHttpUrl(asyncUrl), 'an http or https address without user and password')
  const isKey = typeof apiKey === 'string' ? apiKey !== '' : typeof apiKey === 'function' || isSecret(apiKey)
  check('apiKey', isKey, 'text, a function that returns it, or an object with reveal()')
  check(
    'ca',
    ca === undefined || (typeof ca === 'string' ? ca !== '' : isSecret(ca)),
    'text, or an object with reveal()',
  )
  check('timeoutMs', isWhole(timeoutMs, 1, longestTimeoutMs), `a whole number from 1 to ${longestTimeoutMs}`)
  check('connections', isWhole(connections, 1), 'a whole number, at least 1')
  check('keepAliveMs', isWhole(keepAliveMs, 1, longestTimeoutMs), `a whole number from 1 to ${longestTimeoutMs}`)
  check('retries', isWhole(retries, 0), 'a whole number, at least 0')
  check('maxResponseBytes', isWhole(maxResponseBytes, 1), 'a whole number, at least 1')
}

/** @throws TypeError when the source returns no key */
export function revealKey(apiKey: ApiKey): string {
  const key: unknown = typeof apiKey === 'string' ? apiKey : typeof apiKey === 'function' ? apiKey() : apiKey.reveal()
  if (typeof key !== 'string' || key === '') throw new TypeError('GatewayClient: apiKey returned no key')
  return key
}

function check(name: keyof GatewayClientOptions, ok: boolean, must: string): void {
  if (!ok) throw new TypeError(`GatewayClient: ${name} must be ${must}`)
}

const isSecret = (key: unknown): boolean =>
  typeof key === 'object' && key !== null && 'reveal' in key && typeof key.reveal === 'function'

const alone = 'without user, password, query (?) and fragment (#)'

function isHttpUrl(value: unknown): boolean {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}

const isWhole = (value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): boolean =>
  value === undefined || (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max)
