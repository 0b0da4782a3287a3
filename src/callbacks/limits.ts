export interface ReceiverLimits {
  /** Largest body, in bytes. */
  bodyBytes: number
  /** Deepest nesting of a body. The interface needs 3. */
  jsonDepth: number
  /** Bodies held at one time over all connections, in bytes, with `REQUEST_BYTES` for each request. */
  inFlightBytes: number
  connections: number
  /** How long the headers of a request may take to arrive. */
  headersMs: number
  /** How long a whole request may take to arrive; at least `headersMs`. */
  requestMs: number
  /** How long a publish may take before its callbacks are answered 503. */
  publishMs: number
  /** The least time between the beginnings of two publishes. */
  publishEveryMs: number
  /** How long a connection between two requests is kept; proxies should close theirs before. */
  keepAliveMs: number
  /** How long `close` waits for what is in flight. */
  drainMs: number
}

/** A callback waits for the publish in flight and then for its own: together within 10 s, as senders usually wait. */
export const receiverLimits: ReceiverLimits = {
  bodyBytes: 64 * 1024,
  jsonDepth: 20,
  inFlightBytes: 32 * 1024 * 1024,
  connections: 4096,
  headersMs: 5_000,
  requestMs: 10_000,
  publishMs: 5_000,
  publishEveryMs: 5,
  keepAliveMs: 65_000,
  drainMs: 10_000,
}

/** What a request takes of `inFlightBytes` beside its body. */
export const REQUEST_BYTES = 1024
