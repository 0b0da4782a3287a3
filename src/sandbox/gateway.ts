import type { OperationType } from '../protocol/index.ts'
import type { Id, SandboxAccount } from './accounts.ts'
import type { Callbacks } from './callbacks.ts'
import type { SandboxSettings } from './settings.ts'

/** Gateway is what every request shares. */
export interface Gateway {
  settings: SandboxSettings
  callbacks: Callbacks
  now(): number
  /** Unique in this sandbox. */
  nextMsgId(): number
  nextRequestId(): string
}

/** One element of `data`, once it was checked. */
export interface GivenOperation {
  type: OperationType
  id?: Id
  phone?: number | bigint
  hook?: string
  [field: string]: unknown
}

/** One request on its way. */
export interface Exchange {
  gateway: Gateway
  account: SandboxAccount
  /** When the request was processed, milliseconds since 1970. */
  now: number
  /** The answer waits for all of these. */
  holds: Promise<void>[]
  /** The asynchronous interface answers with it, and callbacks repeat it. */
  requestId?: string
}

/** Executes one operation and answers its item as a JSON text. */
export type Handler = (operation: GivenOperation, exchange: Exchange) => string

/** An identifier as it stands in an answer. */
export function idText(id: Id, { settings }: Gateway): string {
  return settings.echoIds === 'string' ? `"${id}"` : String(id)
}
