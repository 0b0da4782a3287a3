import { definitions, type Settings } from '../config/index.ts'

/** SettableLimits is what operators may set. */
type SettableLimits = Pick<
  Settings['callbacks'],
  'connections' | 'inFlightBytes' | 'bodyBytes' | 'headersMs' | 'requestMs' | 'keepAliveMs'
>

export interface ReceiverLimits extends SettableLimits {
  /** Deepest nesting of a body. The interface needs 3. */
  jsonDepth: number
  /** How long a publish may take before its callbacks are answered 503. */
  publishMs: number
  /** The least time between the beginnings of two publishes. */
  publishEveryMs: number
  /** How long `close` waits for what is in flight. */
  drainMs: number
}

const unlessSet = (name: keyof SettableLimits): number => Number(definitions[`callbacks.${name}`].default)

/** A callback waits for the publish in flight and then for its own: together within 10 s, as senders usually wait. */
export const receiverLimits: ReceiverLimits = {
  connections: unlessSet('connections'),
  inFlightBytes: unlessSet('inFlightBytes'),
  bodyBytes: unlessSet('bodyBytes'),
  headersMs: unlessSet('headersMs'),
  requestMs: unlessSet('requestMs'),
  keepAliveMs: unlessSet('keepAliveMs'),
  jsonDepth: 20,
  publishMs: 5_000,
  publishEveryMs: 5,
  drainMs: 10_000,
}
