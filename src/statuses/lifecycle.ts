import type { StatusEvent } from '../records/generated.ts'

/**
 * How much is known of a message, from least to most. An event from an account's own address (unverified) gives way to
 * one about this very message; "given up" gives way to any verdict that comes after all; a message that reached a phone
 * was delivered, whatever else was said of it.
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

/** What is known of one message. Only `newLifecycle`, `newUnhookedLifecycle` and `lifecycleAfter` create it. */
export interface Lifecycle {
  /** Whether the message has no hook of its own: only then do unverified events count. */
  unhooked: boolean
  stage: LifecycleStage
  /** The gateway's status text; null before the first event. */
  status: string | null
  /**
   * When the stage was reached, in milliseconds since 1970: the earliest time that an event reports. Null before the
   * first event.
   */
  since: number | null
  /** Facts that may come before or after the verdict. */
  read: boolean
  replied: boolean
}

/** The fields of a StatusEvent that the life cycle uses. */
export type StatusFacts = Pick<
  StatusEvent,
  'status' | 'state' | 'final' | 'verified' | 'updatedAt' | 'receivedAt' | 'replies'
>

/** The start for a message with its own hook: unverified events do not count. */
export const newLifecycle: Lifecycle = {
  unhooked: false,
  stage: 'sent',
  status: null,
  since: null,
  read: false,
  replied: false,
}

/** The start for a message without its own hook (its result has `hooked: false`): unverified events count. */
export const newUnhookedLifecycle: Lifecycle = { ...newLifecycle, unhooked: true }

/** Adds an event to the life cycle. Order and repetition of events make no difference: the furthest stage counts. */
export function lifecycleAfter(known: Lifecycle, event: StatusFacts): Lifecycle {
  if (!event.verified && !known.unhooked) return known
  const word = event.status.replaceAll(/[\s_]+/g, ' ').toUpperCase()
  const replied = word === 'REPLIED' || event.replies.length > 0
  const read = word === 'READ' && event.state !== 'FAILED'
  const facts = { read: known.read || replied || read, replied: known.replied || replied }
  const told = { stage: stageOf(event), status: event.status, since: event.updatedAt ?? event.receivedAt }
  return { ...known, ...(tellsMore(told, known) ? told : {}), ...facts }
}

/** Returns the final verdict, or null. UNKNOWN: the message was given up without one. */
export function verdictOf({ stage }: Lifecycle): 'DELIVERED' | 'FAILED' | 'UNKNOWN' | null {
  if (stage.startsWith('delivered')) return 'DELIVERED'
  if (stage.startsWith('failed')) return 'FAILED'
  return stage === 'given up' ? 'UNKNOWN' : null
}

function stageOf({ state, final, verified }: StatusFacts): LifecycleStage {
  if (state === 'DELIVERED') return verified ? 'delivered' : 'delivered, unverified'
  if (state === 'FAILED') return verified ? 'failed' : 'failed, unverified'
  if (state === 'UNKNOWN') return final ? 'given up' : 'sent'
  return 'pending'
}

type Told = Pick<Lifecycle, 'stage' | 'status' | 'since'>

/**
 * Tells whether what is told replaces what is known. Between equals the earlier one stays, then the first in the
 * alphabet.
 */
function tellsMore(told: Told, known: Told): boolean {
  const more = stages.indexOf(told.stage) - stages.indexOf(known.stage)
  if (more !== 0 || known.since === null) return more >= 0
  const earlier = known.since - told.since!
  return earlier !== 0 ? earlier > 0 : told.status! < known.status!
}
