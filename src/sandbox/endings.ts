import { operations, type SendType, sendTypes } from '../protocol/index.ts'
import { texts } from './answers.ts'

/** The fate of a send operation, chosen by the last two digits of its phone. */
export interface Ending {
  /** A sentence for the table in docs/sandbox.md. */
  meaning: string
  /** Types that it applies to; default: all. Other types are delivered. */
  types?: readonly SendType[]
  /** Refuses the item with this text instead of executing it. */
  refused?: string
  /** Refuses only the first operation with this identifier. */
  refusedOnce?: boolean
  /** The final status as in public sources: upper case, with spaces. */
  status: string
  /** `success` of the callback. */
  success: boolean
  /** `error` of the callback. */
  error?: string
  /** Number of callbacks for the final state. */
  callbacks: 0 | 1 | 2
  /** Sends the callback, and awaits its first attempt, before answering the operation. */
  early?: boolean
}

/** Types with a sender name, or with stages that may have one. */
const signed = sendTypes.filter(
  type =>
    operations[type].channels === null ||
    Object.keys(operations[type].schema.shape).some(name => name.endsWith('_signature')),
)

const delivered: Ending = {
  meaning: 'delivered: status DELIVERED, one callback',
  status: 'DELIVERED',
  success: true,
  callbacks: 1,
}

/** Endings by the phone's last two digits; all others are `delivered`. */
export const endings: Readonly<Record<string, Ending>> = {
  '88': {
    ...delivered,
    meaning: 'answered by the recipient: status REPLIED with two replies (viber)',
    types: ['viber'],
    status: 'REPLIED',
  },
  '89': { ...delivered, meaning: 'read: status READ', status: 'READ' },
  '90': {
    ...delivered,
    meaning: `refused: ${texts.alphaName} (types with a sender name)`,
    types: signed,
    refused: texts.alphaName,
  },
  '91': {
    ...delivered,
    meaning: `refused: ${texts.operator} (call/otp)`,
    types: ['call/otp'],
    refused: texts.operator,
  },
  '92': { ...delivered, meaning: `refused: ${texts.money}`, refused: texts.money },
  '93': { ...delivered, meaning: 'not delivered: status UNDELIVERABLE', status: 'UNDELIVERABLE', success: false },
  '94': { ...delivered, meaning: 'not delivered in time: status EXPIRED', status: 'EXPIRED', success: false },
  '95': {
    ...delivered,
    meaning: 'rejected after it was accepted: status REJECTED, the callback names a reason',
    status: 'REJECTED',
    success: false,
    error: 'Rejected by the operator',
  },
  '96': {
    ...delivered,
    meaning: 'delivered, but no callback ever comes; only the operation `status` says so',
    callbacks: 0,
  },
  '97': { ...delivered, meaning: 'delivered, and the callback comes twice', callbacks: 2 },
  '98': {
    ...delivered,
    meaning: `refused with ${texts.throttle} the first time, delivered when the identifier is sent again`,
    refused: texts.throttle,
    refusedOnce: true,
  },
  '99': { ...delivered, meaning: 'delivered, and the callback arrives before the answer', early: true },
}

export function endingOf(type: SendType, phone: number | bigint): Ending {
  const ending = endings[String(Number(phone) % 100)]
  return ending && (ending.types?.includes(type) ?? true) ? ending : delivered
}
