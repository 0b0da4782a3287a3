import { z } from 'zod'
import { addressed, operationObject } from '../fields.ts'
import { must } from '../messages.ts'
import type { Operation } from '../operation.ts'
import { tolerantNumber } from '../tolerant.ts'

/**
 * A call from a number whose last 4 digits are the one-time code. `code` is text: it may begin with zeros, and a number
 * would have lost them. `price` is the fee of the call.
 * Specification: hlr and call/otp; Voice OTP result payload.
 */
export const callOtp = {
  schema: operationObject('call/otp', addressed),
  payload: z.looseObject(
    { code: z.string({ error: must('text') }), price: tolerantNumber },
    { error: must('an object') },
  ),
  section: 'hlr and call/otp',
  hook: 'none',
} satisfies Operation

export type CallOtpOperation = z.infer<typeof callOtp.schema>
export type CallOtpPayload = z.infer<typeof callOtp.payload>
