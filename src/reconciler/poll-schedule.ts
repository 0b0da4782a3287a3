import { backOffMs } from '../back-off.ts'
import type { RecordHeaders } from '../bus/port.ts'
import { type SendType, usualLifetime } from '../protocol/index.ts'
import type { SendResult } from '../records/generated.ts'
import { type PollState, pollStateIn } from '../records/overdue.ts'
import { lifetimeIn } from '../records/result.ts'

/** When to poll for a message without a verdict. Times are milliseconds since 1970. */
export interface Schedule extends PollState {
  /** When the message is given up, with the final status UNKNOWN. */
  endsAt: number
}

export interface ScheduleOptions {
  /** Milliseconds after sending until a verdict is overdue. */
  expect: Readonly<Record<SendType, number>>
  /** How far behind now messages are handled, and hence the first wait between two polls. */
  delayMs: number
  graceMs: number
}

/** The longest wait between two polls, since a phone that is off is usually on again within a day. */
const longestGapMs = 6 * 3_600_000

/** Reads the schedule in an overdue message's headers, or begins a new one. */
export function scheduleOf(
  result: SendResult & { type: SendType },
  headers: RecordHeaders,
  { expect, graceMs }: ScheduleOptions,
): Schedule {
  const sentAt = result.sentAt ?? result.completedAt
  const { pollAt, answers } = pollStateIn(headers)
  const lifeMs = 1000 * (lifetimeIn(headers) ?? usualLifetime(result.type))
  return {
    pollAt: pollAt ?? sentAt + Math.min(lifeMs, expect[result.type]),
    answers: answers ?? 0,
    endsAt: sentAt + lifeMs + graceMs,
  }
}

/** The schedule after an answer without a verdict: waits double, and the last poll is at the end. */
export function afterAnswer({ answers, endsAt }: Schedule, now: number, { delayMs }: ScheduleOptions): Schedule {
  const wait = backOffMs(delayMs, Math.max(longestGapMs, delayMs), answers + 1)
  return { pollAt: Math.min(now + wait, Math.max(now, endsAt)), answers: answers + 1, endsAt }
}
