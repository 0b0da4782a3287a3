import type { RecordHeaders } from '../bus/port.ts'
import type { ItemAnswer } from '../gateway/classify.ts'
import { type SendType, usualLifetime } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import type { SendResult } from '../records/generated.ts'
import { type Questions, questionsIn } from '../records/overdue.ts'
import { lifetimeIn } from '../records/result.ts'
import { type CommandMarks, type NewStatusEvent, readStatus } from '../records/status.ts'

/** Schedule says when a message without a verdict is asked for. All times in milliseconds since 1970. */
export interface Schedule extends Questions {
  /** Given up after this, with a final status UNKNOWN. */
  endsAt: number
}

export interface ScheduleOptions {
  /** Milliseconds after sending until a verdict is overdue. */
  expect: Readonly<Record<SendType, number>>
  delayMs: number
  graceMs: number
}

/** The longest wait between two questions: a phone that was off is on again some time of the day. */
const longestWaitMs = 6 * 3_600_000

/** Reads the schedule that an overdue message carries; one that carries none begins its own. */
export function scheduleOf(
  result: SendResult & { type: SendType },
  headers: RecordHeaders,
  { expect, graceMs }: ScheduleOptions,
): Schedule {
  const sentAt = result.sentAt ?? result.completedAt
  const { askAt, asked } = questionsIn(headers)
  const lifeMs = 1000 * (lifetimeIn(headers) ?? usualLifetime(result.type))
  return {
    askAt: askAt ?? sentAt + Math.min(lifeMs, expect[result.type]),
    asked: asked ?? 0,
    endsAt: sentAt + lifeMs + graceMs,
  }
}

/**
 * The schedule after an answer that was no verdict: each wait is twice the one before, and the last question comes at
 * the end.
 */
export function askedAgain({ asked, endsAt }: Schedule, now: number, { delayMs }: ScheduleOptions): Schedule {
  const wait = Math.min(delayMs * 2 ** asked, Math.max(longestWaitMs, delayMs))
  return { askAt: Math.min(now + wait, Math.max(now, endsAt)), asked: asked + 1, endsAt }
}

/**
 * Makes a status event of the gateway's answer to a question for a message's status. null: nothing definite, or no
 * status.
 */
export function eventOfPoll(result: SendResult, answer: ItemAnswer, receivedAt: number): NewStatusEvent | null {
  if (answer.kind !== 'sent' || !isObject(answer.data)) return null
  const told = readStatus(answer.data)
  if (told.status === '' && told.success === null) return null
  const { type, msgId } = result
  return { ...aboutMessage(result, receivedAt), ...told, type: told.type ?? type, msgId: told.msgId ?? msgId }
}

/** Nobody ever told what became of the message. */
export function givenUp(result: SendResult, receivedAt: number): NewStatusEvent {
  const { type, msgId } = result
  return { ...aboutMessage(result, receivedAt), ...readStatus({}), type, msgId, status: 'UNKNOWN', final: true }
}

function aboutMessage(result: SendResult, receivedAt: number) {
  const { id, account, type, correlationId, tenant, campaign, country } = result
  const marks: CommandMarks = { correlationId, tenant, campaign, commandType: type, country }
  return { id, account, ...marks, source: 'POLL', verified: true, receivedAt } as const
}
