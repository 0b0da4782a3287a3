import { systemClock } from '../clock.ts'
import type { SandboxClock } from './clock.ts'
import { type Readings, readingsWith } from './open-points.ts'

/**
 * The accepted keys: a list belongs to one account named `default`; an object has the key or keys of each account by name.
 */
export type SandboxKeys = readonly string[] | Readonly<Record<string, string | readonly string[]>>

/** Milliseconds, uniformly distributed between the bounds. */
export interface Span {
  min: number
  max: number
}

/** Failures of callbacks, as shares of all messages, 0 to 1. */
export interface CallbackTrouble {
  /** Share that is never sent; the status operation still works. Default: 0. */
  drop?: number
  /** Share that is sent `lateMs` late. Default: 0. */
  late?: number
  /** Milliseconds. Default: 1000. */
  lateMs?: number
  /** Share that is sent twice. Default: 0. */
  repeat?: number
}

/** Behaviour of the sandbox. Every option has a default. */
export interface SandboxOptions {
  /** TCP port. Default 0: any free port. */
  port?: number
  /** Address to listen on. Default `127.0.0.1`. */
  host?: string
  /** Accepted API keys. Default `['sandbox-key']`. All keys of an account share its state. */
  keys?: SandboxKeys
  /** Milliseconds from the execution of the operations to the answer. Default 0. */
  latencyMs?: number | Span
  /** Most operations a second of an account; more are refused with THROTTLE. Default: no limit. */
  rate?: number
  /** Most operations of an envelope; a larger one is refused as a whole. Default: no limit. */
  maxOperations?: number
  /** Initial balance of each account; a part costs 1. Default 1,000,000,000. */
  balance?: number
  /** Milliseconds from a message's execution to its final state and first callback. Default 50 to 500. */
  callbackDelayMs?: number | Span
  /** Attempts per callback until the answer is 200, with exponential back-off. Default 5 attempts, first delay 200 ms. */
  callbackRetry?: {
    /** Attempts in all. */
    tries: number
    /** Milliseconds before the second attempt; each further pause is twice as long. */
    firstDelayMs: number
  }
  /** Concurrent callbacks to one receiver. Default 32. */
  callbackConcurrency?: number
  /** Shares of callbacks that are dropped, late or sent twice. Default: none. */
  callbackTrouble?: CallbackTrouble
  /**
   * Address for statuses of pipeline, whose `hook` the gateway does not keep: one address, or one per account. Default: none.
   */
  accountCallbackUrl?: string | Readonly<Record<string, string>>
  /**
   * Readings of the points that the specification leaves open, such as `{ status: 'text', duplicates: 'refuse' }`.
   * docs/assumptions.md lists them; the first reading of a point is the default.
   */
  open?: Partial<Readings>
  /** Clock and timers; replaced in simulations. Default: the system's. */
  clock?: SandboxClock
}

export interface SandboxSettings extends Required<Omit<SandboxOptions, 'latencyMs' | 'callbackDelayMs' | 'open'>> {
  open: Readings
  latencyMs: Span
  callbackDelayMs: Span
}

/** @throws TypeError when `open` names an unknown point or reading */
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
    clock: systemClock,
    ...options,
    open: readingsWith(options.open ?? {}),
    latencyMs: spanOf(options.latencyMs ?? 0),
    callbackDelayMs: spanOf(options.callbackDelayMs ?? { min: 50, max: 500 }),
  }
}

function spanOf(value: number | Span): Span {
  return typeof value === 'number' ? { min: value, max: value } : value
}
