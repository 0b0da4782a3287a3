import { doubtCauses, errorCodes } from '../protocol/index.ts'

/*
 * Labels whose values are a closed list. A value off its list is counted as `other`, so that no outsider makes series.
 */

export const other = 'other'

/** A label's values: a closed list, or what it is that they name. */
export type LabelValues = readonly string[] | keyof typeof openLabels

/** Labels whose values are not listed here, and what bounds them. */
export const openLabels = {
  topic: 'topics of the settings',
  account: 'accounts of the settings',
  tenant: 'tenants that `gateway.tenantWeights` names; `other` for all others together',
  partition: 'partitions that this process owns',
  currency: 'three capital letters, one an account; `other` for anything else',
  version: 'the version that runs',
} as const

/** Operators may pause one of these. */
export const pausableKinds = ['account', 'topic', 'tenant'] as const

/** What is paused: by operators, or an account by its quiet hours. */
export const pauseKinds = [...pausableKinds, 'quiet_hours'] as const

/** What operators may withdraw: the messages of one of these, or one message. */
export const withdrawalKinds = ['campaign', 'message', 'correlation_id', 'tenant'] as const

/** errorCode of a result; empty where there is no error. */
export const resultCodes = ['', ...errorCodes] as const

export const envelopeOutcomes = ['answered', 'refused', 'denied', 'not_sent', 'unknown'] as const

/** Why commands that were not sent are sent again. */
export const retryReasons = ['throttled', 'unreachable', 'denied', 'refused'] as const

/** No worker aborts a request, so no metric has that cause. */
export const causesOfDoubts = Object.keys(doubtCauses).filter(cause => cause !== 'aborted')

/** A status poll told one of these: of a doubt sent or not_found, to the reconciler verdict or pending. */
export const pollResults = ['sent', 'not_found', 'verdict', 'pending', 'inconclusive', 'unanswered'] as const

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

/** Where most messages go. */
export const countries = (
  'UA PL DE CZ RO MD GB IT ES FR NL TR US CA KZ UZ GE AZ AM LT ' +
  'LV EE SK HU BG GR PT AT CH BE SE NO DK FI IE IL AE IN CN BR'
).split(' ')

/** Codes of dead letters by the stage where they were found. INVALID: the command in a doubt. OMITTED: a doubt without it. */
export const deadLetterCodes = {
  decode: [
    'NO_VALUE',
    'NOT_CONFLUENT',
    'VALUE_TOO_LARGE',
    'SCHEMA_NOT_FOUND',
    'SCHEMA_INCOMPATIBLE',
    'TRUNCATED',
    'TRAILING_BYTES',
    'DECODE',
    'INVALID',
    'OMITTED',
    'CODEC_UNKNOWN',
    'BATCH_CORRUPT',
    'BATCH_TOO_LARGE',
  ],
  callback: ['NO_NUMERIC_ID'],
} as const

type OneOf<L extends readonly string[]> = L[number]

export type PauseKind = OneOf<typeof pauseKinds>
export type WithdrawalKind = OneOf<typeof withdrawalKinds>
export type EnvelopeOutcome = OneOf<typeof envelopeOutcomes>
export type RetryReason = OneOf<typeof retryReasons>
/** PauseReason says why an account pauses. `undecided`: nobody can tell of many requests in a row. */
export type PauseReason = RetryReason | 'undecided'
export type PollResult = OneOf<typeof pollResults>
export type CallbackRefusal = OneOf<typeof callbackRefusals>
export type DeadLetterStage = keyof typeof deadLetterCodes
export type DeadLetterCode = OneOf<(typeof deadLetterCodes)[DeadLetterStage]>
