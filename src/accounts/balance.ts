import type { Clock } from '../clock.ts'
import type { Classified } from '../gateway/classify.ts'
import { type Connection, envelopeBody } from '../gateway/connection.ts'
import { operations } from '../protocol/index.ts'
import { containAsync } from '../telemetry/contain.ts'
import { safeText } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { BalanceFailure } from '../telemetry/labels.ts'
import type { Account } from './account.ts'
import { classifyContained } from './answer.ts'

export interface BalanceOptions {
  connection: Connection
  accounts: ReadonlyMap<string, Account>
  /** 0: never asked for. */
  intervalMs: number
  clock: Clock
  telemetry: Telemetry
}

interface Failure {
  reason: BalanceFailure
  error: string
}

type Reading = { amount: unknown; currency: unknown } | Failure

/** Retry delay while an account is held back or its rate is used up. */
const retryMs = 10_000

/**
 * Asks for the balance of each account at once, and then again and again. This is also the first that a process without commands
 * hears of a wrong key, so a failure is emitted as an event, once for each reason until a request succeeds.
 */
export function watchBalances({ connection, accounts, intervalMs, clock, telemetry }: BalanceOptions) {
  const failures = new Map<string, Failure>()
  let isStopped = false
  let cancel = () => {}

  /** @returns false if it was not requested, because the account is held back or its rate is used up */
  async function ask(account: Account): Promise<boolean> {
    const { gate, limiter } = account
    if (gate.state !== 'closed' || limiter?.available(clock.monotonic()) === 0) return false
    const reading = await containAsync(
      telemetry,
      'answer',
      null,
      () => readBalance(connection, account, telemetry),
      () => ({ reason: 'unknown', error: 'busgate failed on the answer' }) as Reading,
    )
    if (!isStopped) tell(account, reading)
    return true
  }

  function tell({ name, keyPlace }: Account, reading: Reading): void {
    if ('error' in reading) {
      const isNews = failures.get(name)?.reason !== reading.reason
      failures.set(name, reading)
      if (isNews) telemetry.emit('balance.failed', { account: name, ...reading, keyPlace })
      return
    }
    failures.delete(name)
    const { amount, currency } = reading
    if (typeof amount !== 'number') return
    telemetry.emit('balance.read', { account: name, currency: isCode(currency) ? currency : 'other', amount })
  }

  async function askAll(): Promise<void> {
    const asked = await Promise.all([...accounts.values()].map(ask))
    if (isStopped) return
    cancel = clock.after(asked.every(Boolean) ? intervalMs : Math.min(intervalMs, retryMs), () => void askAll())
  }

  if (intervalMs > 0) void askAll()
  return {
    warnings: () =>
      [...failures].map(([name, { error }]) => `cannot read the balance of account ${name}: ${safeText(error)}`),
    stop() {
      isStopped = true
      cancel()
    },
  }
}

async function readBalance(connection: Connection, account: Account, telemetry: Telemetry): Promise<Reading> {
  const permit = account.permit(1, 'questions')
  const answer = await connection.post(envelopeBody(permit.apiKey, ['{"type":"balance"}']), () => {
    account.begun(permit)
    return null
  })
  account.answered(permit)
  account.returnPermit(permit)
  return readingOf(classifyContained(telemetry, [null], answer))
}

/** An unknown text of the gateway may quote anything, so it is not repeated. */
const unknownText = 'refused with an unknown text, which busgate gateway balance shows'

function readingOf(classified: Classified): Reading {
  if (classified.outcome === 'refused') {
    return { reason: 'refused', error: classified.known ? classified.error : unknownText }
  }
  if (classified.outcome !== 'answered') return { reason: classified.outcome, error: classified.error }
  const item = classified.items[0]!
  if (item.kind === 'sent') {
    const { amount, currency } = operations.balance.payload.safeParse(item.data).data ?? {}
    return { amount, currency }
  }
  if (item.kind === 'in_doubt' || item.code === 'REJECTED') return { reason: 'refused', error: unknownText }
  return { reason: item.code === 'ACCESS_DENIED' ? 'denied' : 'refused', error: item.error }
}

/** Three letters, as in ISO 4217. Other text is not used as a metric's label. */
const isCode = (currency: unknown): currency is string => typeof currency === 'string' && /^[A-Z]{3}$/.test(currency)
