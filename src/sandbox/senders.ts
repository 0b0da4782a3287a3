import { isSendType, operations } from '../protocol/index.ts'
import type { GivenOperation } from './gateway.ts'

export const isSenderField = (name: string): boolean => name.endsWith('_signature')

const signedStages = ['sms', 'viber', 'rcs'] as const

/**
 * Tells whether every sender name of an operation is one of these; null: any is. WhatsApp's is not looked at, as the
 * specification says.
 */
export function sendersAccepted(operation: GivenOperation, senders: ReadonlySet<string> | null): boolean {
  if (senders === null) return true
  const accepts = (name: unknown): boolean => name === undefined || senders.has(name as string)

  if (!isSendType(operation.type) || operations[operation.type].channels !== null)
    return Object.keys(operation).every(name => !isSenderField(name) || accepts(operation[name]))
  const stages = operation.pipeline as string[]
  return signedStages.every(
    stage => !stages.includes(stage) || accepts((operation[stage] as { signature?: unknown } | undefined)?.signature),
  )
}
