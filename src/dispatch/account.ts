import { AccountGate } from './gate.ts'
import { RateLimiter } from './limiter.ts'

/** One account of the gateway as the dispatcher sees it. */
export interface Account {
  name: string
  /** The key as it is now: its file may have changed. */
  apiKey: () => string
  gate: AccountGate
  /** null: no rate is set. */
  limiter: RateLimiter | null
}

export function createAccount(
  name: string,
  apiKey: () => string,
  rate: number | undefined,
  random: () => number,
): Account {
  return { name, apiKey, gate: new AccountGate(random), limiter: rate === undefined ? null : new RateLimiter(rate) }
}
