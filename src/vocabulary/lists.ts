/*
 * Enumerations shared by several rooms, the schemas, the dashboards and the documents. Where these cannot be derived from
 * them, test/project/lists.test.ts compares them.
 */

/** Roles of a process. */
export const roles = ['worker', 'callbacks', 'reconciler'] as const

/** A role of a process. */
export type Role = (typeof roles)[number]

/** Delivery policies for commands in doubt. */
export const policies = ['AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const

/** Policy for a command in doubt: never send it again, or send it again unless it is proven to have been sent. */
export type Policy = (typeof policies)[number]

/** Where the one-time password of a call/otp is written: into its result, into a header of it, or nowhere. */
export const codePlaces = ['result', 'header', 'none'] as const

/** One of `codePlaces`. */
export type CodePlace = (typeof codePlaces)[number]

/** Codes for the gateway's refusal texts. */
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

/** The outcomes of a command, each with its possible error codes. */
export const outcomeCodes = {
  SENT: [],
  REJECTED: refusalCodes,
  INVALID: ['VALIDATION', 'COUNTRY', 'PARTS', 'SEAL'],
  EXPIRED: ['DEADLINE', 'MAX_AGE', 'WITHDRAWN'],
  DUPLICATE: ['DUPLICATE_ID'],
  IN_DOUBT: ['RESPONSE_LOST'],
  UNRESOLVED: [...refusalCodes, 'RESPONSE_LOST', 'ATTEMPTS_EXHAUSTED', 'DEADLINE', 'MAX_AGE', 'WITHDRAWN'],
} as const

/** The outcome of a command: the field `outcome` of its result. */
export type Outcome = keyof typeof outcomeCodes

/** Whether a record with this final outcome has not used its id, so that another one may. */
export const leavesIdFree = (outcome: Outcome | 'UNKNOWN'): boolean =>
  outcome === 'INVALID' || outcome === 'EXPIRED' || outcome === 'DUPLICATE'

/** Every value of `outcome` in a result. */
export const outcomes = Object.keys(outcomeCodes) as Outcome[]

/** Why a command was not sent, or why its outcome is unknown: the field `errorCode` of its result. */
export type ErrorCode = (typeof outcomeCodes)[Outcome][number]

/** Every value of `errorCode` in a result. */
export const errorCodes: readonly ErrorCode[] = [...new Set(Object.values(outcomeCodes).flat())]

/** What each errorCode means, and what to do about it; null: nothing beyond what the outcome asks for. */
export const errorCodeTexts: Readonly<Record<ErrorCode, { meaning: string; remedy: string | null }>> = {
  ACCESS_DENIED: {
    meaning: "the gateway refused the account's key",
    remedy: 'The operator corrects it (gateway.apiKey, BUSGATE_GATEWAY_API_KEY)',
  },
  SENDER_INVALID: {
    meaning: 'the gateway does not know the signature',
    remedy: 'Register the signature with the gateway, or use another one',
  },
  OPERATOR_UNSUPPORTED: {
    meaning: 'the channel does not reach this number',
    remedy: 'The gateway does not reach the network of this number by this channel: use another one',
  },
  TYPE_INVALID: { meaning: 'the gateway does not know the type', remedy: null },
  THROTTLED: { meaning: 'reserved: busgate retries throttled commands, so no result has it', remedy: null },
  INSUFFICIENT_FUNDS: { meaning: 'the account has too little money', remedy: 'The operator tops up the account' },
  DUPLICATE_ID: {
    meaning: 'the id was used before',
    remedy:
      'If this message was written before, it was probably sent: ask for its status before you do anything. If another message used the id, use a new one',
  },
  VALIDATION: {
    meaning: 'a field violates the interface, or there is no content',
    remedy: 'Correct the field that its text names',
  },
  COUNTRY: {
    meaning: "the number's country is not in `gateway.countries`",
    remedy:
      'If its country is right, the operator adds it to gateway.countries or to those of the account; else find who asks for messages to it',
  },
  PARTS: {
    meaning: 'its SMS needs more parts than `gateway.maxParts`',
    remedy:
      'Shorten the text, or replace the character that `error` names; or the operator raises gateway.maxParts or that of the account',
  },
  SEAL: {
    meaning: 'its sealed content does not open, or its account takes sealed content alone (`sealing.required`)',
    remedy: 'Seal it as docs/personal-data.md says, with the key and the header that `error` asks for',
  },
  REJECTED: { meaning: 'any other refusal: see `error`', remedy: null },
  DEADLINE: {
    meaning: 'its deadline passed',
    remedy: 'It was not sent before its deadline: give it a later one',
  },
  MAX_AGE: {
    meaning: 'it became older than `commands.maxAgeMs`',
    remedy: 'It waited longer than commands.maxAgeMs',
  },
  WITHDRAWN: {
    meaning: 'it was taken back',
    remedy:
      'Nothing. To send it after all, use a new id outside of the withdrawal: another campaign, correlationId or tenant, or end the withdrawal first (busgate withdraw … --end)',
  },
  RESPONSE_LOST: { meaning: "the gateway's answer was lost", remedy: null },
  ATTEMPTS_EXHAUSTED: { meaning: 'still in doubt after `doubts.maxAttempts` requests', remedy: null },
}

/** Why it is unknown whether a command was sent, with the sentence for its result. */
export const doubtCauses = {
  timeout: 'the gateway did not answer in time',
  reset: 'the connection broke before the answer',
  response_cut: 'the connection broke within the answer',
  response_too_large: 'the answer was too long to be read',
  http_status: 'something in front of the gateway answered instead of it',
  foreign_body: 'the answer did not come from the gateway',
  contradiction: 'the answer contradicts itself',
  items_differ: 'the answer does not fit the request',
  /** only in the client: a worker never aborts a request */
  aborted: 'the request was aborted before the answer',
  taken_over: 'another worker may have sent it before it stopped',
  progress_reset: 'a worker may have sent it before the progress of the group was reset',
} as const

/** Why it is unknown whether a command was sent: a key of `doubtCauses`. */
export type DoubtCause = keyof typeof doubtCauses

/** The states of a message. UNKNOWN is inconclusive: poll again. */
export const states = ['PENDING', 'DELIVERED', 'FAILED', 'UNKNOWN'] as const

/** What a gateway status means: the field `state` of a status event. */
export type State = (typeof states)[number]
