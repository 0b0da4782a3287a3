import { errorCodes } from '../protocol/index.ts'

/*
 * Labels whose values are a closed list. A value off its list is counted as `other`, so that no outsider makes series.
 * What the rooms behind this one define is repeated here; test/telemetry/labels.test.ts holds the lists together.
 */

export const other = 'other'

/** Parts of busgate that a process runs. */
export const roles = ['worker', 'callbacks', 'reconciler'] as const
/** Operators may pause one of these. */
export const pauseKinds = ['account', 'topic', 'tenant'] as const

/** Outcomes of results. */
export const outcomes = ['SENT', 'REJECTED', 'INVALID', 'EXPIRED', 'DUPLICATE', 'IN_DOUBT', 'UNRESOLVED'] as const

/** errorCode of a result; empty where there is no error. */
export const resultCodes = ['', ...errorCodes] as const

export const envelopeOutcomes = ['answered', 'refused', 'denied', 'not_sent', 'unknown'] as const

/** Why commands that were not sent are sent again. */
export const retryReasons = ['throttled', 'unreachable', 'denied', 'refused'] as const

export const doubtCauses = [
  'timeout',
  'reset',
  'response_cut',
  'response_too_large',
  'http_status',
  'foreign_body',
  'contradiction',
  'items_differ',
  'taken_over',
] as const

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
  'too_deep',
  'duplicate_name',
  'bad_body',
  'overloaded',
  'not_published',
  'failed',
  'aborted',
] as const

/** Codes of dead letters by the stage where they were found. INVALID: the command in a doubt. OMITTED: a doubt without it. */
export const deadLetterCodes = {
  decode: [
    'NO_VALUE',
    'NOT_CONFLUENT',
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

export type RoleLabel = OneOf<typeof roles>
export type PauseKind = OneOf<typeof pauseKinds>
export type ResultOutcome = OneOf<typeof outcomes>
export type EnvelopeOutcome = OneOf<typeof envelopeOutcomes>
export type RetryReason = OneOf<typeof retryReasons>
/** PauseReason says why an account pauses. `undecided`: nobody can tell of many requests in a row. */
export type PauseReason = RetryReason | 'undecided'
/** `aborted`: by the caller of the client. No worker aborts a request, so no metric has it. */
export type DoubtCause = OneOf<typeof doubtCauses> | 'aborted'
export type PollResult = OneOf<typeof pollResults>
export type CallbackRefusal = OneOf<typeof callbackRefusals>
export type DeadLetterStage = keyof typeof deadLetterCodes
export type DeadLetterCode = OneOf<(typeof deadLetterCodes)[DeadLetterStage]>
