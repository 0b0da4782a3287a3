import type { ErrorCode } from './lists.ts'

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
      // Seen by public clients.
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
 * The code of the gateway's error text; null: nobody knows the text. The whole text is compared; case, surrounding space
 * and a final full stop make no difference. `own` adds texts and wins over the known ones.
 */
export const knownErrorCode = (text: string, own: Readonly<Record<string, ErrorCode>> = {}): ErrorCode | null => {
  const folded = fold(text)
  const ownMatch = Object.entries(own).find(([ownText]) => fold(ownText) === folded)
  return ownMatch?.[1] ?? known.get(folded) ?? null
}

/** The code of a refusal in words; a text that nobody knows is REJECTED. */
export const errorCodeOf = (text: string, own: Readonly<Record<string, ErrorCode>> = {}): ErrorCode =>
  knownErrorCode(text, own) ?? 'REJECTED'
