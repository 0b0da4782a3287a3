import type { ErrorCode } from '../vocabulary/lists.ts'

const fold = (text: string): string => {
  const folded = text.trim().toLowerCase()
  return folded.endsWith('.') ? folded.slice(0, -1) : folded
}

const known: ReadonlyMap<string, ErrorCode> = new Map(
  (
    [
      // The specification, Errors.
      ['Access denied', 'ACCESS_DENIED'],
      ['Error in Alpha-name', 'SENDER_INVALID'],
      ['Operator not supported', 'OPERATOR_UNSUPPORTED'],
      ['Invalid message type', 'TYPE_INVALID'],
      // Observed by public clients.
      ['Sender phone should contains only english letters, digits, dot, underscore, dash', 'SENDER_INVALID'],
      ['Please enter SMS text', 'VALIDATION'],
      ['Please enter valid receiver phone number', 'VALIDATION'],
      ['Not enough money', 'INSUFFICIENT_FUNDS'],
      ['Too many requests', 'THROTTLED'],
      ['id exists', 'DUPLICATE_ID'],
      // Codes of the same gateway's XML transport.
      ['THROTTLE', 'THROTTLED'],
      ['OVERLIMIT', 'THROTTLED'],
      ['LENGTH', 'VALIDATION'],
      ['DUPLICATE', 'DUPLICATE_ID'],
      ['BILLING', 'INSUFFICIENT_FUNDS'],
      ['IP_DENIED', 'ACCESS_DENIED'],
      ['API_DISABLE', 'ACCESS_DENIED'],
    ] as const
  ).map(([text, code]) => [fold(text), code]),
)

/**
 * The code of the gateway's error text; null if the text is unknown. Compares the whole text, without case, surrounding
 * spaces and a final full stop. `own` adds texts and overrides known ones.
 */
export const knownErrorCode = (text: string, own: Readonly<Record<string, ErrorCode>> = {}): ErrorCode | null => {
  const folded = fold(text)
  const ownMatch = Object.entries(own).find(([ownText]) => fold(ownText) === folded)
  return ownMatch?.[1] ?? known.get(folded) ?? null
}

/** The code of a refusal text; REJECTED if the text is unknown. */
export const errorCodeOf = (text: string, own: Readonly<Record<string, ErrorCode>> = {}): ErrorCode =>
  knownErrorCode(text, own) ?? 'REJECTED'
