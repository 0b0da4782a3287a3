import { operations, type SendType } from './registry.ts'

/** Finds the text of an operation's SMS, or of its SMS stage, with the name of its field; null if it sends no SMS. */
export function smsTextOf(
  type: SendType,
  operation: Readonly<Record<string, unknown>>,
): { field: string; text: string } | null {
  const channels = operations[type].channels ?? operation.pipeline
  if (!Array.isArray(channels) || !channels.includes('sms')) return null
  const isStage = operations[type].channels === null
  const text = isStage ? (operation.sms as { message?: unknown } | undefined)?.message : operation.sms_message
  return typeof text === 'string' ? { field: isStage ? 'sms.message' : 'sms_message', text } : null
}
