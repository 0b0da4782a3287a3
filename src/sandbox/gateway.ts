import type { OperationType } from '../protocol/index.ts'
import type { Id, SandboxAccount } from './accounts.ts'
import type { Callbacks } from './callbacks.ts'
import type { Reading } from './open-points.ts'
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

const idForms: Record<Reading<'ids'>, (id: Id) => string | null> = {
  number: String,
  string: id => `"${id}"`,
  padded: id => `"00${id}"`,
  rounded: id => String(BigInt(Number(id))),
  absent: () => null,
}

/** The caller's identifier as a field of an answer, followed by a comma; empty if answers do not echo it. */
export function echoOf(id: Id | undefined, { settings }: Gateway): string {
  const echoed = id === undefined ? null : idForms[settings.open.ids](id)
  return echoed === null ? '' : `"id":${echoed},`
}
