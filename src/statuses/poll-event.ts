import type { Verdict } from '../gateway/classify.ts'
import { operations, stateOf } from '../protocol/index.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { replyOf } from '../records/reply.ts'

/** What the gateway's answer to a question for a message's status says. null: nothing definite, or no status. */
export function eventOfPoll(result: SendResult, answer: Verdict, receivedAt: number): StatusEvent | null {
  if (answer.kind !== 'sent') return null
  const { data } = operations.status.payload.safeParse(answer.data)
  if (typeof data !== 'object' || data === null || Array.isArray(data) || data.status === undefined) return null
  const meaning = stateOf(data.status)
  return {
    ...aboutMessage(result, receivedAt),
    type: data.type ?? result.type,
    status: data.status,
    ...meaning,
    success: meaning.final ? meaning.state === 'DELIVERED' : null,
    replies: (data.replies ?? []).map(replyOf),
  }
}

/** Nobody ever told what became of the message. */
export function givenUp(result: SendResult, receivedAt: number): StatusEvent {
  return {
    ...aboutMessage(result, receivedAt),
    type: result.type,
    status: 'UNKNOWN',
    state: 'UNKNOWN',
    final: true,
    success: null,
    replies: [],
  }
}

function aboutMessage({ id, msgId, account, correlationId, tenant }: SendResult, receivedAt: number) {
  return {
    id,
    msgId,
    account,
    error: null,
    source: 'POLL',
    verified: true,
    updatedAt: null,
    receivedAt,
    reply: null,
    duration: null,
    requestId: null,
    correlationId,
    tenant,
  } as const
}
