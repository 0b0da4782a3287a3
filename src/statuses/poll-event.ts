import type { ItemAnswer } from '../gateway/classify.ts'
import { isObject } from '../protocol/json.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { readStatus } from '../records/status.ts'

/**
 * Makes a status event of the gateway's answer to a question for a message's status. null: nothing definite, or no
 * status.
 */
export function eventOfPoll(result: SendResult, answer: ItemAnswer, receivedAt: number): StatusEvent | null {
  if (answer.kind !== 'sent' || !isObject(answer.data)) return null
  const told = readStatus(answer.data)
  if (told.status === '' && told.success === null) return null
  const { type, msgId } = result
  return { ...aboutMessage(result, receivedAt), ...told, type: told.type ?? type, msgId: told.msgId ?? msgId }
}

/** Nobody ever told what became of the message. */
export function givenUp(result: SendResult, receivedAt: number): StatusEvent {
  const { type, msgId } = result
  return { ...aboutMessage(result, receivedAt), ...readStatus({}), type, msgId, status: 'UNKNOWN', final: true }
}

const aboutMessage = ({ id, account, correlationId, tenant }: SendResult, receivedAt: number) =>
  ({ id, account, correlationId, tenant, source: 'POLL', verified: true, receivedAt }) as const
