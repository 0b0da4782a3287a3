import { addressed, operationObject } from '../fields.ts'
import { messageFacts, noContent } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'
import { openPayload, tolerantField, tolerantNumber } from '../tolerant.ts'

/** Returns the 4-digit code in an answer, restoring leading zeros that a number lost; null if there is no code. */
export function otpCode(value: unknown): string | null {
  if (typeof value === 'string') return value
  const isCode = Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 9999
  return isCode ? String(value).padStart(4, '0') : null
}

const tolerantCode = tolerantField(otpCode)

/**
 * A call from a number whose last 4 digits are the one-time code. `code` is text, because it may begin with zeros. `price` is
 * the fee of the call. Specification: hlr and call/otp; Voice OTP result payload.
 */
export const callOtp = {
  ...messageFacts,
  schema: operationObject('call/otp', addressed),
  payload: openPayload({ code: tolerantCode, price: tolerantNumber }),
  section: 'hlr and call/otp',
  hook: 'none',
  record: 'CallOtp',
  channels: ['voice'],
  missingContent: noContent,
  answer: 'code',
  hasStatus: false,
  alone: true,
  // a lost answer loses the code, which cannot be polled
  policy: 'AT_MOST_ONCE',
  urgent: true,
} as const satisfies SendOperation
