import type { Clock } from '../clock.ts'
import { classify } from '../gateway/classify.ts'
import { type Connection, envelopeBody } from '../gateway/connection.ts'
import { operations } from '../protocol/index.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { Account } from './account.ts'

export interface BalanceOptions {
  connection: Connection
  account: Account
  clock: Clock
  telemetry: Telemetry
}

/**
 * Requests an account's balance and emits it as an event.
 * @returns false if it was not requested, because the account is held back or its rate is used up
 */
export async function readBalance({ connection, account, clock, telemetry }: BalanceOptions): Promise<boolean> {
  const { gate, limiter, name } = account
  if (gate.state !== 'closed' || limiter?.available(clock.monotonic()) === 0) return false
  const permit = account.permit(1, 'questions')
  const answer = await connection.post(envelopeBody(permit.apiKey, ['{"type":"balance"}']), () => {
    account.begun(permit)
    return null
  })
  account.answered(permit)
  account.withdraw(permit)
  const classified = classify([null], answer)
  const item = classified.outcome === 'answered' ? classified.items[0] : undefined
  if (item?.kind !== 'sent') return true
  const { amount, currency } = (operations.balance.payload.safeParse(item.data).data ?? {}) as Record<string, unknown>
  if (typeof amount !== 'number') return true
  telemetry.emit('balance.read', { account: name, currency: isCode(currency) ? currency : 'other', amount })
  return true
}

/** Three letters, as in ISO 4217. Other text is not used as a metric's label. */
const isCode = (currency: unknown): currency is string => typeof currency === 'string' && /^[A-Z]{3}$/.test(currency)
