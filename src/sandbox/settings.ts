import { systemClock } from '../clock.ts'
import type { SandboxClock } from './clock.ts'

/** The accepted keys: a list is one account named `default`; an object names the accounts, each with its key or keys. */
export type SandboxKeys = readonly string[] | Readonly<Record<string, string | readonly string[]>>

/** Milliseconds; evenly spread between the bounds. */
export interface Span {
  min: number
  max: number
}

/** CallbackTrouble is what becomes of callbacks on their way: shares of all messages, 0 to 1. */
export interface CallbackTrouble {
  /** The share that is never sent; the status operation tells. */
  drop?: number
  /** Sent `lateMs` after their time. */
  late?: number
  /** Default 1000. */
  lateMs?: number
  /** Sent twice. */
  repeat?: number
}

/** How the sandbox answers. Every option has a default. */
export interface SandboxOptions {
  /** TCP port. Default 0: any free one. */
  port?: number
  /** Default `127.0.0.1`. */
  host?: string
  /** The API keys that are accepted. Default `['sandbox-key']`. Two keys of one account count as one account. */
  keys?: SandboxKeys
  /** How long an answer takes after the operations were executed. Default 0. */
  latencyMs?: number | Span
  /** Maximum operations a second of an account; more are refused with THROTTLE. Default: no limit. */
  rate?: number
  /** Operations in one envelope; a larger one is refused as a whole. Default: no limit. */
  maxOperations?: number
  /** Each account starts with this amount; a part costs 1. Default 1,000,000,000. */
  balance?: number
  /** The time from a message's execution to its final state and first callback. Default 50 to 500. */
  callbackDelayMs?: number | Span
  /** Tries of one callback until it is answered 200; the pause doubles. Default 5 tries, first pause 200 ms. */
  callbackRetry?: { tries: number; firstDelayMs: number }
  /** Callbacks in flight to one receiver. Default 32. */
  callbackConcurrency?: number
  /** Shares of callbacks that are dropped, late or sent twice. Default: none. */
  callbackTrouble?: CallbackTrouble
  /** Where statuses of pipeline go, whose `hook` the gateway does not keep: one address, or one an account. Default: nowhere. */
  accountCallbackUrl?: string | Readonly<Record<string, string>>
  /** Whether `voice` keeps a `hook`; the specification leaves it open. Default true; otherwise as pipeline. */
  voiceHook?: boolean
  /**
   * An identifier that was executed before: `execute` sends and bills it again, `refuse` answers DUPLICATE.
   * Nobody knows which the real gateway does. Default `execute`.
   */
  duplicates?: 'execute' | 'refuse'
  /** Whether identifiers are answered as numbers or as strings. Default `number`. */
  echoIds?: 'number' | 'string'
  /** Where "Operator not supported" of `call/otp` stands; the specification allows both. Default `item`. */
  otpRefusal?: 'item' | 'envelope'
  /** Time and timers, to be replaced in simulations. Default: the system's. */
  clock?: SandboxClock
}

export interface SandboxSettings extends Required<Omit<SandboxOptions, 'latencyMs' | 'callbackDelayMs'>> {
  latencyMs: Span
  callbackDelayMs: Span
}

export function settingsOf(options: SandboxOptions): SandboxSettings {
  return {
    port: 0,
    host: '127.0.0.1',
    keys: ['sandbox-key'],
    rate: Number.POSITIVE_INFINITY,
    maxOperations: Number.POSITIVE_INFINITY,
    balance: 1_000_000_000,
    callbackRetry: { tries: 5, firstDelayMs: 200 },
    callbackConcurrency: 32,
    callbackTrouble: {},
    accountCallbackUrl: {},
    voiceHook: true,
    duplicates: 'execute',
    echoIds: 'number',
    otpRefusal: 'item',
    clock: systemClock,
    ...options,
    latencyMs: spanOf(options.latencyMs ?? 0),
    callbackDelayMs: spanOf(options.callbackDelayMs ?? { min: 50, max: 500 }),
  }
}

function spanOf(value: number | Span): Span {
  return typeof value === 'number' ? { min: value, max: value } : value
}
