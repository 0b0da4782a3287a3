import { grouped, timeText } from '../words.ts'

/*
 * The words for what keeps commands from being sent: the same at /readyz, in `busgate message`, `status` and `doctor`, on the
 * page and in the alerts.
 */

/** Why an account is held back, and what ends that. Unlike an operator's pause, it ends by itself once the cause is gone. */
export const holdReasons = {
  denied: { because: 'the gateway refuses its key', mend: 'The operator must replace the key' },
  unreachable: {
    because: 'the gateway cannot be reached',
    mend: 'The operator must repair the connection to the gateway',
  },
  undecided: {
    because: 'the outcome of its requests is unknown',
    mend: 'The operator must find out what answers for the gateway',
  },
  refused: {
    because: 'the gateway refuses whole envelopes with an unknown text',
    mend: "The operator must ask the gateway's operator",
  },
  throttled: { because: 'the gateway throttles it', mend: 'It resumes by itself' },
  unknown: {
    because: 'gateway.accounts of its worker does not name it',
    mend: 'The operator must add the account, or its producer must correct the name',
  },
} as const

/** Why an account is held back: a key of `holdReasons`. */
export type HoldReason = keyof typeof holdReasons

/** An account that is held back. Instants are milliseconds since 1970. */
export interface HeldAccount {
  account: string
  reason: HoldReason
  since: number
  /** When the next probe may be sent; null if one is in flight, or if there is none. */
  probeAt: number | null
  /** Number of its commands that the process has read and not sent. */
  waiting: number
  /** What the connection failed with; null if the reason says all. */
  error: string | null
}

/** Why records of a partition wait while its process works. */
export type StuckPartition = { topic: string; partition: number; offset: number } & (
  | { why: 'schema'; schemaId: number; since: number }
  | { why: 'transaction'; text: string }
)

export function heldAccountText({ account, ...held }: HeldAccount): string {
  return `account ${account} has been held back ${reasonText(held)}`
}

/** The same for the status polls of an account. */
export function heldPollsText({ account, ...held }: HeldAccount): string {
  return `status polls of account ${account} have been held back ${reasonText(held)}`
}

function reasonText({ reason, since, error, waiting }: Omit<HeldAccount, 'account'>): string {
  const wait = waiting === 1 ? '1 command waits' : `${grouped(waiting)} commands wait`
  const detail = error === null ? '' : ` (${error})`
  return `${timeText(since, 'since')}, because ${holdReasons[reason].because}${detail}${waiting > 0 ? `; ${wait} with it` : ''}`
}

/** @param keyPlace where the account's key is set, if known */
export function mendText(reason: HoldReason, keyPlace?: string): string {
  const { mend } = holdReasons[reason]
  return reason === 'denied' && keyPlace !== undefined ? `${mend}: put the valid one into ${keyPlace}.` : `${mend}.`
}

export function stuckText(stuck: StuckPartition): string {
  if (stuck.why === 'transaction') return stuck.text
  const { topic, partition, offset, schemaId, since } = stuck
  const place = `${topic}/${partition}@${offset}`
  return `the record at ${place} has waited ${timeText(since, 'since')} for schema ${schemaId}: the registry cannot be asked for it`
}
