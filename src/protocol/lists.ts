/*
 * The lists of words that several rooms, the schemas, the dashboards and the documents share, each once. What cannot derive
 * from them is held to them by test/project/lists.test.ts.
 */

/** Parts of busgate that a process runs. */
export const roles = ['worker', 'callbacks', 'reconciler'] as const

/** A part of busgate that a process runs. */
export type Role = (typeof roles)[number]

/** What to do with a command when nobody can tell whether it was sent. */
export const policies = ['AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const

/** What to do with a command in doubt: never send it again, or send it again if nothing proves that it was sent. */
export type Policy = (typeof policies)[number]

/** Where the one-time password of a call/otp goes: into its result, into a header of it, or nowhere. */
export const codePlaces = ['result', 'header', 'none'] as const

/** One of `codePlaces`. */
export type CodePlace = (typeof codePlaces)[number]

/** The gateway's texts of refusal map to these codes. */
export const refusalCodes = [
  'ACCESS_DENIED',
  'SENDER_INVALID',
  'OPERATOR_UNSUPPORTED',
  'TYPE_INVALID',
  'THROTTLED',
  'INSUFFICIENT_FUNDS',
  'DUPLICATE_ID',
  'VALIDATION',
  'REJECTED',
] as const

/** What can become of a command, and the codes that may say why. A code that is in no outcome cannot be in a result. */
export const outcomeCodes = {
  SENT: [],
  REJECTED: refusalCodes,
  INVALID: ['VALIDATION'],
  EXPIRED: ['DEADLINE', 'MAX_AGE', 'WITHDRAWN'],
  DUPLICATE: ['DUPLICATE_ID'],
  IN_DOUBT: ['RESPONSE_LOST'],
  UNRESOLVED: [...refusalCodes, 'RESPONSE_LOST', 'ATTEMPTS_EXHAUSTED', 'DEADLINE', 'MAX_AGE', 'WITHDRAWN'],
} as const

/** What became of a command: the field `outcome` of its result. */
export type Outcome = keyof typeof outcomeCodes

/** Every value of `outcome` in a result. */
export const outcomes = Object.keys(outcomeCodes) as Outcome[]

/** Why a command was not sent, or why nobody can tell: the field `errorCode` of its result. */
export type ErrorCode = (typeof outcomeCodes)[Outcome][number]

/** Every value of `errorCode` in a result. */
export const errorCodes: readonly ErrorCode[] = [...new Set(Object.values(outcomeCodes).flat())]

/** Why nobody can tell whether a command was sent, with the sentence of its result. */
export const doubtCauses = {
  timeout: 'the gateway did not answer in time',
  reset: 'the connection broke before the answer',
  response_cut: 'the connection broke within the answer',
  response_too_large: 'the answer was too long to be read',
  http_status: 'something in front of the gateway answered in its place',
  foreign_body: 'the answer was none of the gateway',
  contradiction: 'the answer contradicts itself',
  items_differ: 'the answer does not fit the request',
  /** By the caller of the client: no worker aborts a request. */
  aborted: 'the request was given up before the answer',
  taken_over: 'another worker may have sent it before it stopped',
} as const

/** Why nobody can tell whether a command was sent: a key of `doubtCauses`. */
export type DoubtCause = keyof typeof doubtCauses

/** The states of a message. UNKNOWN is inconclusive: poll again. */
export const states = ['PENDING', 'DELIVERED', 'FAILED', 'UNKNOWN'] as const

/** What a gateway status means: the field `state` of a status event. */
export type State = (typeof states)[number]
