import { z } from 'zod'
import { noContent } from '../content.ts'
import { addressed, operationObject } from '../fields.ts'
import { messageFacts } from '../message-facts.ts'
import { must } from '../messages.ts'
import type { SendOperation } from '../operation.ts'
import { tolerantNumber } from '../tolerant.ts'

/**
 * A call from a number whose last 4 digits are the one-time code. `code` is text: it may begin with zeros, and a number
 * would have lost them. `price` is the fee of the call.
 * Specification: hlr and call/otp; Voice OTP result payload.
 */
export const callOtp = {
  ...messageFacts,
  schema: operationObject('call/otp', addressed),
  payload: z.looseObject(
    { code: z.string({ error: must('text') }), price: tolerantNumber },
    { error: must('an object') },
  ),
  section: 'hlr and call/otp',
  hook: 'none',
  record: 'CallOtp',
  channels: ['voice'],
  missingContent: noContent,
  answer: 'code',
  hasStatus: false,
  alone: true,
  // The code goes with a lost answer, which cannot be asked for.
  policy: 'AT_MOST_ONCE',
  urgent: true,
} as const satisfies SendOperation

export type CallOtpOperation = z.infer<typeof callOtp.schema>
export type CallOtpPayload = z.infer<typeof callOtp.payload>
