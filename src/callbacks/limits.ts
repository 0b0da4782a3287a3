import { definitions, type Settings } from '../config/index.ts'
import type { ActsOfTurn } from './round-robin.ts'

/** SettableLimits is what operators may set. */
type SettableLimits = Pick<
  Settings['callbacks'],
  | 'connections'
  | 'inFlightBytes'
  | 'addressShare'
  | 'addressRefusals'
  | 'bodyBytes'
  | 'headersMs'
  | 'requestMs'
  | 'keepAliveMs'
>

export interface ReceiverLimits extends SettableLimits {
  /** Deepest nesting of a body. The interface needs 3. */
  jsonDepth: number
  /** How long a publish may take before its callbacks are answered 503. */
  publishMs: number
  /** The least time between the beginnings of two publishes. */
  publishEveryMs: number
  /** How long, and for how many bytes, a connection is read on after its last answer, so that its sender can read it. */
  lingerMs: number
  lingerBytes: number
  /** How many requests are taken, and how many callbacks answered, in one turn of the event loop: together. */
  actsOfTurn: ActsOfTurn
  /** How long `close` waits for what is in flight. */
  drainMs: number
}

const unlessSet = (name: keyof SettableLimits): number => Number(definitions[`callbacks.${name}`].default)

/** A callback waits for the publish in flight and then for its own: together within 10 s, as senders usually wait. */
export const receiverLimits: ReceiverLimits = {
  connections: unlessSet('connections'),
  inFlightBytes: unlessSet('inFlightBytes'),
  addressShare: unlessSet('addressShare'),
  addressRefusals: unlessSet('addressRefusals'),
  bodyBytes: unlessSet('bodyBytes'),
  headersMs: unlessSet('headersMs'),
  requestMs: unlessSet('requestMs'),
  keepAliveMs: unlessSet('keepAliveMs'),
  jsonDepth: 20,
  publishMs: 5_000,
  publishEveryMs: 5,
  actsOfTurn: { most: 64, whileAccepting: 4 },
  lingerMs: 5_000,
  lingerBytes: 16 * 1024 * 1024,
  drainMs: 10_000,
}

/** The bytes that a request takes of `inFlightBytes` beside its headers and its body, as measured. */
export const requestBytes = 13 * 1024
