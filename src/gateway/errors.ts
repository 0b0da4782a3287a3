import type { DoubtCause, ErrorCode } from '../vocabulary/lists.ts'

/** Why a call failed: an `errorCode` of results, or a failure that only the client reports. */
export type GatewayErrorCode = ErrorCode | 'UNREACHABLE' | 'ABORTED' | 'PAYLOAD_UNREADABLE'

interface ErrorFacts {
  code: GatewayErrorCode
  retryable?: boolean
  definite: boolean
  retryAfterMs?: number | null
  cause?: unknown
}

/** A failed operation. Contains no key, phone or message text. */
export class GatewayError extends Error {
  /** Why it failed. */
  readonly code: GatewayErrorCode
  /** Whether the same call may succeed later. Never true unless `definite` is. */
  readonly retryable: boolean
  /** true: the call was certainly not executed. false: it may have been executed, and billed. */
  readonly definite: boolean
  /** Milliseconds to wait before a retry, if the answer says so. */
  readonly retryAfterMs: number | null

  constructor(message: string, { code, retryable = false, definite, retryAfterMs = null, ...options }: ErrorFacts) {
    super(message, options)
    this.name = new.target.name
    this.code = code
    this.retryable = retryable
    this.definite = definite
    this.retryAfterMs = retryAfterMs
  }
}

/** A field of an operation that violates the interface. */
export interface Problem {
  /** Position in the caller's list of operations. */
  index: number
  /** The field, such as `sms_message` or `viber_carousel[1].caption`; empty for the operation as a whole. */
  field: string
  /** Names the field and the constraint, never the value. */
  message: string
}

/** An operation violates the interface; nothing was sent. Correct the field that the message names. */
export class ValidationError extends GatewayError {
  /** `index` of the first problem. */
  readonly index: number
  /** `field` of the first problem. */
  readonly field: string
  /** All violations, not only the first. */
  readonly problems: readonly Problem[]

  constructor(problems: readonly [Problem, ...Problem[]]) {
    const [{ index, field, message }] = problems
    super(`operation ${index}: ${message}`, { code: 'VALIDATION', definite: true })
    this.index = index
    this.field = field
    this.problems = problems
  }
}

/** The API key was refused; nothing was sent. Check the key and the account's settings. */
export class AccessDeniedError extends GatewayError {
  constructor(message: string) {
    super(message, { code: 'ACCESS_DENIED', definite: true })
  }
}

/** The gateway refused the operation or its envelope. `code` is the reason, `message` the gateway's text. */
export class RefusedError extends GatewayError {
  constructor(message: string, code: ErrorCode) {
    super(message, { code, definite: true })
  }
}

/** The gateway or a proxy throttled the call; nothing was sent. Retry later. */
export class ThrottledError extends GatewayError {
  constructor(message: string, retryAfterMs: number | null) {
    super(message, { code: 'THROTTLED', retryable: true, definite: true, retryAfterMs })
  }
}

/**
 * The gateway was not reached; nothing was sent. Causes: DNS, connection, certificate, no free connection in time, or a
 * proxy's HTTP status.
 */
export class UnreachableError extends GatewayError {
  constructor(message: string, retryAfterMs: number | null) {
    super(message, { code: 'UNREACHABLE', retryable: true, definite: true, retryAfterMs })
  }
}

/** The caller's signal aborted, or onRequest threw; `cause` is the reason. Definite if no byte was written. */
export class AbortedError extends GatewayError {
  constructor(message: string, { definite, cause }: { definite: boolean; cause: unknown }) {
    super(message, { code: 'ABORTED', definite, cause })
  }
}

/**
 * Perhaps executed: at least part of the request was written, and no usable answer came. Call `status` or wait for the
 * callback before sending it again: the gateway may bill a repeated id twice.
 */
export class InDoubtError extends GatewayError {
  /** Why the outcome is unknown. */
  readonly reason: DoubtCause

  constructor(message: string, reason: DoubtCause) {
    super(message, { code: 'RESPONSE_LOST', definite: false })
    this.reason = reason
  }
}

/** The gateway executed the operation, but its answer cannot be parsed. Do not send it again; see `payload()`. */
export class UnreadablePayloadError extends GatewayError {
  readonly #payload: unknown

  constructor(message: string, payload: unknown) {
    super(message, { code: 'PAYLOAD_UNREADABLE', definite: false })
    this.#payload = payload
  }

  /** The gateway's answer. A method, so that logging the error does not print it. */
  payload(): unknown {
    return this.#payload
  }
}
