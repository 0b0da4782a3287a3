import { acceptsKey, type Classified, isMisplaced } from '../gateway/classify.ts'
import { type Connection, envelopeBody } from '../gateway/connection.ts'
import { operations } from '../protocol/index.ts'
import { containAsync } from '../telemetry/contain.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { BalanceFailure } from '../telemetry/labels.ts'
import type { ErrorCode } from '../vocabulary/lists.ts'
import type { Account } from './account.ts'
import { classifyContained } from './classify-contained.ts'

/** What the gateway says when it is asked for an account's balance. */
export interface BalanceReading {
  /** Whether the answer is definite and shows that the gateway accepts the account's key. */
  accepted: boolean
  balance: { amount: unknown; currency: unknown } | null
  failure: { reason: BalanceFailure; error: string } | null
}

export interface BalanceOptions {
  connection: Connection
  errorTexts: Readonly<Record<string, ErrorCode>>
  telemetry: Telemetry
}

/**
 * Asks for the balance of an account. Its breaker learns only whether the key is accepted, unless the question is its probe: a
 * gateway may answer commands and have no balance.
 */
export function askBalance(options: BalanceOptions, account: Account): Promise<BalanceReading> {
  return containAsync(
    options.telemetry,
    'answer',
    null,
    () => ask(options, account),
    () => failedReading('unknown', 'busgate failed on the answer'),
  )
}

async function ask({ connection, errorTexts, telemetry }: BalanceOptions, account: Account): Promise<BalanceReading> {
  const permit = account.permit(1, 'balance')
  const answer = await connection.post(envelopeBody(permit.apiKey, ['{"type":"balance"}']), () => {
    account.begun(permit)
    return null
  })
  const classified = classifyContained(telemetry, [null], answer, errorTexts)
  if (isMisplaced(classified)) connection.distrust()
  if (answer.kind === 'response') account.hear()
  const accepted = acceptsKey(classified)
  if (permit.probe || accepted || classified.outcome === 'denied') account.observe(permit, classified)
  else {
    account.answered(permit)
    account.returnPermit(permit)
  }
  return { ...readingOf(classified), accepted }
}

/** An unknown text of the gateway may quote anything, so it is not repeated. */
const unknownText = 'refused with an unknown text, which busgate gateway balance shows'

const unreadable = 'its answer has no amount that is a number; busgate gateway balance shows it'

function readingOf(classified: Classified): BalanceReading {
  if (classified.outcome === 'refused')
    return failedReading('refused', classified.known ? classified.error : unknownText)
  if (classified.outcome !== 'answered') return failedReading(classified.outcome, classified.error)
  const item = classified.items[0]!
  if (item.kind === 'sent') {
    const { amount, currency } = operations.balance.payload.safeParse(item.data).data ?? {}
    if (amount === undefined) return failedReading('unreadable', unreadable)
    return { accepted: true, balance: { amount, currency }, failure: null }
  }
  if (item.kind === 'in_doubt' || item.code === 'REJECTED') return failedReading('refused', unknownText)
  return failedReading(item.code === 'ACCESS_DENIED' ? 'denied' : 'refused', item.error)
}

function failedReading(reason: BalanceFailure, error: string): BalanceReading {
  return { accepted: false, balance: null, failure: { reason, error } }
}
