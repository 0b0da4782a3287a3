import type { OperationType } from '../protocol/index.ts'
import type { Id, SandboxAccount } from './accounts.ts'
import type { Callbacks } from './callbacks.ts'
import type { SandboxSettings } from './settings.ts'

/** State shared by all requests. */
export interface Gateway {
  settings: SandboxSettings
  callbacks: Callbacks
  now(): number
  nextMsgId(): number
  nextRequestId(): string
}

/** A validated element of `data`. */
export interface GivenOperation {
  type: OperationType
  id?: Id
  phone?: number | bigint
  hook?: string
  [field: string]: unknown
}

export interface Exchange {
  gateway: Gateway
  account: SandboxAccount
  /** When the request was processed, milliseconds since 1970. */
  now: number
  /** The answer waits for all of these promises. */
  holds: Promise<void>[]
  /** The id in the asynchronous answer, repeated by callbacks. */
  requestId?: string
}

/** Executes one operation. @returns its item as JSON text */
export type Handler = (operation: GivenOperation, exchange: Exchange) => string

/** An identifier in the form used by answers. */
export function idText(id: Id, { settings }: Gateway): string {
  return settings.echoIds === 'string' ? `"${id}"` : String(id)
}
