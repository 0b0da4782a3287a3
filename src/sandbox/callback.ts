import type { Gateway, Operation } from './gateway.ts'
import type { Message } from './ledger.ts'
import type { Outcome } from './outcomes.ts'

const callbackTypes = ['sms', 'viber', 'voice', 'rcs']

/**
 * The body of a status callback (specification, Events). `type` is left out for channels off the specification's list
 * (telegram, whatsapp): only `success` is required.
 */
export function callbackOf(operation: Operation, message: Message, outcome: Outcome, gateway: Gateway): string {
  const { id, dtmf } = operation
  const { channel } = message
  const spoken = channel === 'voice' && outcome.success
  return JSON.stringify({
    success: outcome.success,
    ...(id !== undefined && { id: String(id) }),
    msg_id: String(message.msgId),
    ...(callbackTypes.includes(channel) && { type: channel }),
    status: outcome.status,
    ...(outcome.error !== undefined && { error: outcome.error }),
    updated: new Date(gateway.now()).toISOString(),
    ...(spoken && { duration: 1 + Math.floor(gateway.chance('duration', id) * 60) }),
    ...(spoken && dtmf === true && { reply: String(Math.floor(gateway.chance('reply', id) * 10)) }),
  })
}
