import { isOperationType, operations as protocol } from '../protocol/index.ts'
import { isRefusedItem } from './answers.ts'
import { refusalCallback } from './callback.ts'
import { pickWithin } from './chance.ts'
import type { Exchange, GivenOperation } from './gateway.ts'

/**
 * On the asynchronous interface a refusal is told by callback. It goes to the operation's own `hook`, that of a
 * pipeline included, which gets no other status (specification, States and transitions).
 */
export function callBackRefusals(operations: unknown[], items: string[], exchange: Exchange): void {
  const { callbacks, settings, chance } = exchange.gateway
  for (const [i, item] of items.entries()) {
    const operation = operations[i] as GivenOperation | null
    const url = isRefusedItem(item) ? hookOf(operation, settings.voiceHook) : undefined
    if (!operation || url === undefined) continue
    const { error } = JSON.parse(item) as { error: string }
    const delay = pickWithin(settings.callbackDelayMs, chance('delay', operation.id))
    callbacks.schedule(url, () => refusalCallback(operation, error, exchange), delay)
  }
}

function hookOf(operation: GivenOperation | null, voiceHook: boolean): string | undefined {
  const { type, hook } = operation ?? {}
  if (!isOperationType(type) || typeof hook !== 'string') return undefined
  const kept = protocol[type].hook
  return kept === 'none' || (kept === 'not shown' && !voiceHook) ? undefined : hook
}
