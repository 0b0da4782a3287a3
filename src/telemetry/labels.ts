import { sendTypes } from '../protocol/index.ts'
import { doubtCauses, errorCodes, outcomeCodes, type State } from '../vocabulary/lists.ts'

/** Labels with a closed list of values. Any other value counts as `other`, so that outsiders cannot create series. */

export const other = 'other'

/** Values of a label: a closed list, or the kind of an open label. */
export type LabelValues = readonly string[] | keyof typeof openLabels

/** Open labels, and what limits their values. */
export const openLabels = {
  topic: 'topics of the settings',
  account: 'accounts of the settings',
  country: 'two letters of ISO 3166; `other` for a number without a known country',
  tenant: 'tenants that `gateway.tenantWeights` names; `other` for all others together',
  partition: 'partitions that this process owns',
  currency: 'three capital letters, one an account; `other` for anything else',
  version: 'the version that runs',
} as const

/** errorCode of a result; empty if there is no error. */
export const resultCodes = ['', ...errorCodes] as const

/** The combinations that occur. */
export const resultCombinations = Object.entries(outcomeCodes).map(([outcome, codes]) => ({
  type: sendTypes,
  outcome: [outcome],
  error_code: codes.length > 0 ? codes : [''],
}))

/** Types that a status event may name. */
export const receivedTypes = [...sendTypes, other]

export const verdictStates = ['DELIVERED', 'FAILED', 'UNKNOWN'] as const satisfies State[]

export const envelopeOutcomes = ['answered', 'refused', 'denied', 'not_sent', 'unknown'] as const

/** Why unsent commands are retried. */
export const retryReasons = ['throttled', 'unreachable', 'denied', 'refused'] as const

/** Workers abort no request, so metrics lack that cause. */
export const causesOfDoubts = Object.keys(doubtCauses).filter(cause => cause !== 'aborted')

/** Results of a status poll: sent and not_found for doubts; verdict and pending for the reconciler. */
export const pollResults = [
  'sent',
  'not_found',
  'verdict',
  'pending',
  'inconclusive',
  'unreadable',
  'unanswered',
] as const

export const callbackRefusals = [
  'method',
  'path',
  'malformed',
  'forged',
  'expired',
  'other_id',
  'unknown_key',
  'too_large',
  'not_utf8',
  'bad_json',
  'bad_body',
  'overloaded',
  'not_published',
  'failed',
  'aborted',
] as const

/** Countries with the most messages; others count as `other`. */
export const countries = (
  'UA PL DE CZ RO MD GB IT ES FR NL TR US CA KZ UZ GE AZ AM LT ' +
  'LV EE SK HU BG GR PT AT CH BE SE NO DK FI IE IL AE IN CN BR'
).split(' ')

/** What is handled behind a boundary: an error while one of them is handled has no effect on others. */
export const handlings = [
  'command',
  'doubt',
  'result',
  'status',
  'answer',
  'callback',
  'partition',
  'telemetry',
] as const

/** Why bytes can never be read as a record. */
export const decodeCodes = [
  'NO_VALUE',
  'NOT_CONFLUENT',
  'VALUE_TOO_LARGE',
  'SCHEMA_NOT_FOUND',
  'SCHEMA_INCOMPATIBLE',
  'TRUNCATED',
  'TRAILING_BYTES',
  'DECODE',
] as const

/** Codes of dead letters by stage. handle: busgate itself failed. OMITTED: a doubt without its command. */
export const deadLetterCodes = {
  decode: [
    ...decodeCodes,
    'KEY_NOT_FOUND',
    'OMITTED',
    'RECORDS_DELETED',
    'RECORDS_SKIPPED',
    'CODEC_UNKNOWN',
    'BATCH_CORRUPT',
    'BATCH_TOO_LARGE',
  ],
  handle: ['INTERNAL_ERROR'],
  callback: ['NO_NUMERIC_ID'],
} as const

type OneOf<L extends readonly string[]> = L[number]

export type EnvelopeOutcome = OneOf<typeof envelopeOutcomes>
/** `unreadable`: the answer has no amount that is a number. */
export type BalanceFailure = Exclude<EnvelopeOutcome, 'answered'> | 'unreadable'
export type RetryReason = OneOf<typeof retryReasons>
/** Why an account is held back. `undecided`: the outcome of many requests in a row is unknown. */
export type PauseReason = RetryReason | 'undecided'
export type PollResult = OneOf<typeof pollResults>
export type CallbackRefusal = OneOf<typeof callbackRefusals>
export type Handling = OneOf<typeof handlings>
export type DeadLetterStage = keyof typeof deadLetterCodes
export type DeadLetterCode = OneOf<(typeof deadLetterCodes)[DeadLetterStage]>
