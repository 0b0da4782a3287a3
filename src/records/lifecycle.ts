import type { SendResult, StatusEvent } from './generated.ts'

/**
 * Stages of a message, from least to most certain. A verified event overrides one from an account's address (unverified); any
 * later verdict overrides "given up"; a message that reached a phone was delivered, whatever other events say.
 */
const stages = [
  'sent',
  'pending',
  'given up',
  'failed, unverified',
  'delivered, unverified',
  'failed',
  'delivered',
] as const

type LifecycleStage = (typeof stages)[number]

/** What events report of one message. */
export interface LifecycleState {
  /** The furthest stage that an event reported. */
  stage: LifecycleStage
  /** Status text of the gateway; null before the first event. */
  status: string | null
  /**
   * Time at which the stage was reached, milliseconds since 1970: the earliest that an event reports. Null before the first
   * event.
   */
  since: number | null
  /** Whether an event reported that it was read, before or after the verdict. */
  read: boolean
  /** Whether an event reported a reply; such a message counts as read. */
  replied: boolean
}

/** The events of one message, combined. Plain JSON, to be stored between events; `verdictOf` and `stateOf` read it. */
export interface Lifecycle {
  /** From verified events alone. */
  verified: LifecycleState
  /** From all events: counts for a message without its own callback address. */
  all: LifecycleState
}

/** The fields of a StatusEvent that the life cycle uses. */
export type StatusFacts = Pick<
  StatusEvent,
  'status' | 'state' | 'final' | 'verified' | 'updatedAt' | 'receivedAt' | 'replies'
>

const sent: LifecycleState = { stage: 'sent', status: null, since: null, read: false, replied: false }

/** The life cycle of a message before its first event. */
export const newLifecycle: Lifecycle = { verified: sent, all: sent }

/** Adds an event to the life cycle. Order and repetition of events do not matter: the furthest stage counts. */
export function lifecycleAfter(known: Lifecycle, event: StatusFacts): Lifecycle {
  const all = stateAfter(known.all, event)
  return { verified: event.verified ? stateAfter(known.verified, event) : known.verified, all }
}

/**
 * Returns the state of a message.
 * @param result the message's result, if it is known: only with its `hooked: false` do unverified events count
 */
export function stateOf(life: Lifecycle, result?: Pick<SendResult, 'hooked'>): LifecycleState {
  return result?.hooked === false ? life.all : life.verified
}

/**
 * Returns the final verdict, or null if there is none yet. UNKNOWN means that the message was given up without a verdict.
 * @param result as for `stateOf`
 */
export function verdictOf(
  life: Lifecycle,
  result?: Pick<SendResult, 'hooked'>,
): 'DELIVERED' | 'FAILED' | 'UNKNOWN' | null {
  const { stage } = stateOf(life, result)
  if (stage.startsWith('delivered')) return 'DELIVERED'
  if (stage.startsWith('failed')) return 'FAILED'
  return stage === 'given up' ? 'UNKNOWN' : null
}

function stateAfter(known: LifecycleState, event: StatusFacts): LifecycleState {
  const word = event.status.replaceAll(/[\s_]+/g, ' ').toUpperCase()
  const replied = word === 'REPLIED' || event.replies.length > 0
  const read = word === 'READ' && event.state !== 'FAILED'
  const facts = { read: known.read || replied || read, replied: known.replied || replied }
  const reported = { stage: stageOf(event), status: event.status, since: event.updatedAt ?? event.receivedAt }
  return { ...known, ...(replaces(reported, known) ? reported : {}), ...facts }
}

function stageOf({ state, final, verified }: StatusFacts): LifecycleStage {
  if (state === 'DELIVERED') return verified ? 'delivered' : 'delivered, unverified'
  if (state === 'FAILED') return verified ? 'failed' : 'failed, unverified'
  if (state === 'UNKNOWN') return final ? 'given up' : 'sent'
  return 'pending'
}

type ReportedStage = Pick<LifecycleState, 'stage' | 'status' | 'since'>

/**
 * Whether an event replaces the known state. Of two equal stages the earlier one stays, then the first in alphabetical order.
 */
function replaces(reported: ReportedStage, known: ReportedStage): boolean {
  const more = stages.indexOf(reported.stage) - stages.indexOf(known.stage)
  if (more !== 0 || known.since === null) return more >= 0
  const earlier = known.since - reported.since!
  return earlier !== 0 ? earlier > 0 : reported.status! < known.status!
}
